// SPDX-License-Identifier: Apache-2.0
// Forks while threads exist. The child lacks them, so its calls run on the calling thread, with the
// same bits. Its destructors wait for no thread. An alarm ends a child that hangs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "rotary/rotary_threads.h"
#include "rotary/rotate.hpp"
#include "rotary/threads.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Tensor;

constexpr std::int64_t concurrency = 4;
constexpr Extents extents{.tokens = 256, .heads = 2, .features = 16};

#if defined(__SANITIZE_THREAD__)
constexpr bool children_may_start_threads = false;  // ThreadSanitizer ends such a child
#else
constexpr bool children_may_start_threads = true;
#endif
constexpr int rounds = 20;

class Fork : public testing::Test {
 protected:
  // With AddressSanitizer, a thread of the parent may be inside the allocator during the fork. The
  // child then waits forever, and allocations of that thread count as leaks.
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "not with AddressSanitizer";
#endif
  }
};

// A static pool, as a program may have one. exit() destroys it.
Threads& static_threads() {
  static Threads threads = test::value_of(Threads::start(concurrency));
  return threads;
}

struct Work {
  Rotations rotations = test::rotations_of(
      test::frequencies_of({.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}),
      ConsecutivePositions{.first = 7, .tokens = extents.tokens});
  Tensor src = test::random_tensor({.extents = extents}, 90);
  Tensor expected = src;

  Work() { test::require(rotate(expected.view(), src.view(), rotations)); }

  [[nodiscard]] bool is_right(const Executor& executor) const {
    Tensor dst = src;
    return rotate(dst.view(), src.view(), rotations, {.executor = executor}).ok() &&
           dst.bytes() == expected.bytes();
  }
};

// Returns 0 if the child ended with exit code 0, otherwise its wait status.
template <class InChild>
int run_in_child(InChild in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    in_child();
    _exit(3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

void end(bool is_right) { _exit(is_right ? 0 : 1); }

// A thread that runs calls on the static pool until this object is destroyed.
class BusyThread {
 public:
  explicit BusyThread(const Work& work)
      : thread_([this, &work] {
          while (!ending_) all_right_ = all_right_ && work.is_right(static_threads().executor());
        }) {}
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;
  ~BusyThread() {
    ending_ = true;
    thread_.join();
    EXPECT_TRUE(all_right_);
  }

 private:
  std::atomic<bool> ending_ = false;
  std::atomic<bool> all_right_ = true;
  std::thread thread_;
};

TEST_F(Fork, AChildExitsDuringACall) {
  const Work work;
  const BusyThread busy(work);
  for (int round = 0; round < rounds / 10; ++round) {
    ASSERT_EQ(run_in_child([] { std::exit(0); }), 0) << round;
  }
}

TEST_F(Fork, AChildAndItsChildRotateWithoutThreadsDuringACall) {
  const Work work;
  const BusyThread busy(work);
  const Executor executor = static_threads().executor();
  for (int round = 0; round < rounds; ++round) {
    const auto rotate_here_and_below = [&] {
      const bool here = work.is_right(executor) && work.is_right(static_threads().executor());
      end(here && run_in_child([&] { end(work.is_right(executor)); }) == 0);
    };
    ASSERT_EQ(run_in_child(rotate_here_and_below), 0) << round;
  }
}

TEST_F(Fork, AChildMovesAndDestroysWhatItInherits) {
  const Work work;
  std::optional<Threads> threads(test::value_of(Threads::start(concurrency)));
  rotary_threads* in_c = nullptr;
  ASSERT_EQ(rotary_threads_start(concurrency, &in_c), ROTARY_OK);
  const auto move_and_destroy = [&] {
    Threads moved = *std::move(threads);
    // NOLINTNEXTLINE(bugprone-use-after-move): a moved-from object has an executor, too
    const bool is_right = work.is_right(moved.executor()) && work.is_right(threads->executor());
    threads.reset();
    rotary_executor executor = ROTARY_EXECUTOR_INIT;
    const bool has_executor = rotary_threads_executor(in_c, &executor) == ROTARY_OK;
    rotary_threads_stop(in_c);
    end(is_right && has_executor);
  };
  EXPECT_EQ(run_in_child(move_and_destroy), 0);
  rotary_threads_stop(in_c);
}

TEST_F(Fork, AChildStartsItsOwnThreads) {
  if (!children_may_start_threads) GTEST_SKIP() << "not with ThreadSanitizer";
  const Work work;
  static_threads();
  const auto start = [&] {
    const auto own = Threads::start(concurrency);
    // The grandchild inherits two generations of threads.
    const auto below = [&] {
      end(work.is_right(own->executor()) && work.is_right(static_threads().executor()));
    };
    end(own && work.is_right(own->executor()) && run_in_child(below) == 0);
  };
  EXPECT_EQ(run_in_child(start), 0);
}

}  // namespace
}  // namespace rotary
