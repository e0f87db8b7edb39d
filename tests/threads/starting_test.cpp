// SPDX-License-Identifier: Apache-2.0
// The system refuses to start the first thread, then the second, and so on. A separate binary,
// because it replaces pthread_create.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "rotary/rotary_threads.h"
#include "rotary/threads.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace {

constexpr std::int64_t concurrency = 5;

std::atomic<int> threads_left{1000};  // thread starts until one is refused

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// A joined thread stays in /proc/self/task for a moment.
bool becomes_the_only_thread() {
  for (int tries = 0; tries < 2000; ++tries) {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    if (std::distance(begin(tasks), end(tasks)) == 1) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the system's are reserved
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left-- <= 0) return EAGAIN;
  return create(thread, attributes, start, argument);
}

namespace rotary {
namespace {

TEST(StartingThreads, EachRefusalIsAnErrorAndLeavesNoThread) {
  for (int started = 0; started < concurrency - 1; ++started) {
    threads_left = started;
    const auto threads = Threads::start(concurrency);
    threads_left = 1000;
    test::refused(threads, {"4 more threads", "got " + std::to_string(started)},
                  ErrorCode::out_of_memory);
    threads_left = started;
    rotary_threads* in_c = nullptr;
    EXPECT_EQ(rotary_threads_start(concurrency, &in_c), ROTARY_OUT_OF_MEMORY);
    threads_left = 1000;
    EXPECT_EQ(in_c, nullptr);
    EXPECT_NE(std::string(rotary_threads_last_error()).find("4 more threads"), std::string::npos);
  }
  EXPECT_TRUE(becomes_the_only_thread());
  EXPECT_EQ(test::value_of(Threads::start(concurrency)).executor().concurrency, concurrency);
}

}  // namespace
}  // namespace rotary
