// SPDX-License-Identifier: Apache-2.0
// The C functions of rotary_threads.h. Errors are a status and a text.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "rotary/rotary_threads.h"

namespace {

void count_visit(void* state, int64_t index) {
  ++(*static_cast<std::vector<int>*>(state))[static_cast<std::size_t>(index)];
}

std::string last_error() { return rotary_threads_last_error(); }

bool last_error_has(const std::string& part) {
  return last_error().find(part) != std::string::npos;
}

TEST(ThreadsInC, RunEachTaskOnce) {
  rotary_threads* threads = nullptr;
  ASSERT_EQ(rotary_threads_start(3, &threads), ROTARY_OK);
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  ASSERT_EQ(rotary_threads_executor(threads, &executor), ROTARY_OK);
  EXPECT_EQ(executor.concurrency, 3);
  EXPECT_EQ(executor.struct_size, sizeof(rotary_executor));
  std::vector<int> visits(100, 0);
  executor.run(executor.context, 100, count_visit, &visits);
  EXPECT_EQ(visits, std::vector<int>(100, 1));
  rotary_threads_stop(threads);
}

TEST(ThreadsInC, StoppingNullDoesNothing) { rotary_threads_stop(nullptr); }

TEST(ThreadsInC, AWrongConcurrencyIsAnError) {
  rotary_threads* other = nullptr;
  ASSERT_EQ(rotary_threads_start(1, &other), ROTARY_OK);
  rotary_threads* threads = other;
  EXPECT_EQ(rotary_threads_start(1025, &threads), ROTARY_INVALID_ARGUMENT);
  EXPECT_EQ(threads, nullptr);
  EXPECT_TRUE(last_error_has("[0, 1024]")) << last_error();
  EXPECT_TRUE(last_error_has("1025")) << last_error();
  rotary_threads_stop(other);
}

TEST(ThreadsInC, NullIsAnError) {
  EXPECT_EQ(rotary_threads_start(2, nullptr), ROTARY_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("out")) << last_error();
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  EXPECT_EQ(rotary_threads_executor(nullptr, &executor), ROTARY_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("threads")) << last_error();
  EXPECT_EQ(executor.run, nullptr);
  rotary_threads* threads = nullptr;
  ASSERT_EQ(rotary_threads_start(1, &threads), ROTARY_OK);
  EXPECT_EQ(rotary_threads_executor(threads, nullptr), ROTARY_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("executor")) << last_error();
  rotary_threads_stop(threads);
}

TEST(ThreadsInC, AStructOfUnknownSizeIsAnError) {
  rotary_threads* threads = nullptr;
  ASSERT_EQ(rotary_threads_start(2, &threads), ROTARY_OK);
  rotary_executor executor{};
  EXPECT_EQ(rotary_threads_executor(threads, &executor), ROTARY_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("struct_size must be sizeof(rotary_executor)")) << last_error();
  EXPECT_TRUE(last_error_has("got 0")) << last_error();
  executor.struct_size = 4097;  // no struct of any version is larger than 4096 bytes
  EXPECT_EQ(rotary_threads_executor(threads, &executor), ROTARY_INVALID_ARGUMENT);
  EXPECT_TRUE(last_error_has("got 4097")) << last_error();
  EXPECT_EQ(executor.run, nullptr);
  rotary_threads_stop(threads);
}

// A caller may be compiled with a longer struct: members that are unknown here stay unchanged.
TEST(ThreadsInC, ALongerStructKeepsItsEnd) {
  struct Longer {
    rotary_executor known;
    int64_t added;
  } longer{ROTARY_EXECUTOR_INIT, 77};
  longer.known.struct_size = sizeof(Longer);
  rotary_threads* threads = nullptr;
  ASSERT_EQ(rotary_threads_start(2, &threads), ROTARY_OK);
  EXPECT_EQ(rotary_threads_executor(threads, &longer.known), ROTARY_OK);
  EXPECT_EQ(longer.known.concurrency, 2);
  EXPECT_EQ(longer.known.struct_size, sizeof(Longer));
  EXPECT_EQ(longer.added, 77);
  rotary_threads_stop(threads);
}

TEST(ThreadsInC, EachThreadHasItsErrorText) {
  EXPECT_EQ(rotary_threads_start(-1, nullptr), ROTARY_INVALID_ARGUMENT);
  std::string of_other = "not read";
  std::thread([&] { of_other = last_error(); }).join();
  EXPECT_EQ(of_other, "");
  EXPECT_NE(last_error(), "");
}

}  // namespace
