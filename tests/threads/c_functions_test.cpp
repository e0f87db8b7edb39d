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

void expect_invalid(rotary_status status, const std::string& part) {
  EXPECT_EQ(status, ROTARY_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find(part), std::string::npos) << last_error();
}

class ThreadsInC : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(rotary_threads_start(3, &threads), ROTARY_OK); }
  void TearDown() override { rotary_threads_stop(threads); }

  rotary_threads* threads = nullptr;
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
};

TEST_F(ThreadsInC, RunEachTaskOnce) {
  ASSERT_EQ(rotary_threads_executor(threads, &executor), ROTARY_OK);
  EXPECT_EQ(executor.concurrency, 3);
  EXPECT_EQ(executor.struct_size, sizeof(rotary_executor));
  std::vector<int> visits(100, 0);
  executor.run(executor.context, 100, count_visit, &visits);
  EXPECT_EQ(visits, std::vector<int>(100, 1));
}

TEST_F(ThreadsInC, StoppingNullDoesNothing) { rotary_threads_stop(nullptr); }

TEST_F(ThreadsInC, AWrongConcurrencyIsAnError) {
  rotary_threads* other = threads;
  expect_invalid(rotary_threads_start(1025, &other), "[0, 1024], got 1025");
  EXPECT_EQ(other, nullptr);
}

TEST_F(ThreadsInC, NullIsAnError) {
  expect_invalid(rotary_threads_start(2, nullptr), "out");
  expect_invalid(rotary_threads_executor(nullptr, &executor), "threads");
  EXPECT_EQ(executor.run, nullptr);
  expect_invalid(rotary_threads_executor(threads, nullptr), "executor");
}

TEST_F(ThreadsInC, AStructOfUnknownSizeIsAnError) {
  for (const std::size_t size : {0, 4097}) {  // no struct of any version exceeds 4096 bytes
    executor.struct_size = size;
    expect_invalid(rotary_threads_executor(threads, &executor),
                   "struct_size must be sizeof(rotary_executor), ");
    EXPECT_TRUE(last_error().ends_with("; got " + std::to_string(size))) << last_error();
  }
  EXPECT_EQ(executor.run, nullptr);
}

// A caller may be compiled with a longer struct: members that are unknown here stay unchanged.
TEST_F(ThreadsInC, ALongerStructKeepsItsEnd) {
  struct Longer {
    rotary_executor known;
    int64_t added;
  } longer{ROTARY_EXECUTOR_INIT, 77};
  longer.known.struct_size = sizeof(Longer);
  EXPECT_EQ(rotary_threads_executor(threads, &longer.known), ROTARY_OK);
  EXPECT_EQ(longer.known.concurrency, 3);
  EXPECT_EQ(longer.known.struct_size, sizeof(Longer));
  EXPECT_EQ(longer.added, 77);
}

TEST_F(ThreadsInC, EachThreadHasItsErrorText) {
  EXPECT_EQ(rotary_threads_start(-1, nullptr), ROTARY_INVALID_ARGUMENT);
  std::string of_other = "not read";
  std::thread([&] { of_other = last_error(); }).join();
  EXPECT_EQ(of_other, "");
  EXPECT_NE(last_error(), "");
}

}  // namespace
