// SPDX-License-Identifier: Apache-2.0
#include "rotary/threads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

Threads started(std::int64_t concurrency) { return test::value_of(Threads::start(concurrency)); }

void run(const Executor& executor, std::int64_t count, std::function<void(std::int64_t)> body) {
  executor.run(
      executor.context, count,
      [](void* state, std::int64_t index) {
        (*static_cast<std::function<void(std::int64_t)>*>(state))(index);
      },
      &body);
}

// Counts how often each index runs. Plain ints let a sanitizer see tasks that run twice at once, or
// whose result the caller cannot see.
std::vector<int> visits_of(const Executor& executor, std::int64_t count) {
  std::vector<int> visits(static_cast<std::size_t>(count), 0);
  run(executor, count, [&](std::int64_t index) { ++visits[static_cast<std::size_t>(index)]; });
  return visits;
}

std::vector<int> ones(std::int64_t count) {
  std::vector<int> visits(static_cast<std::size_t>(count), 1);
  return visits;
}

TEST(Threads, ConcurrencyIsFrom0To1024) {
  for (const std::int64_t concurrency : {INT64_MIN, std::int64_t{-1}, std::int64_t{1025}}) {
    test::refused(Threads::start(concurrency),
                  {"concurrency", "[0, 1024]", std::to_string(concurrency)});
  }
}

TEST(Threads, RunEachTaskOnce) {
  for (const std::int64_t concurrency : {1, 2, 3, 8}) {
    const Threads threads = started(concurrency);
    for (const std::int64_t count : {0, 1, 2, 3, 7, 8, 1000}) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        ASSERT_EQ(visits_of(threads.executor(), count), ones(count)) << concurrency;
      }
    }
  }
}

// Each task waits until all have begun.
TEST(Threads, RunAsManyTasksAtOnceAsTheConcurrency) {
  const Threads threads = started(4);
  std::atomic<int> begun{0};
  run(threads.executor(), 4, [&](std::int64_t) {
    ++begun;
    while (begun < 4) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 4);
}

TEST(Threads, TheCallerWorksToo) {
  const Threads threads = started(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> begun{0};
  std::atomic<int> by_caller{0};
  run(threads.executor(), 2, [&](std::int64_t) {
    by_caller += std::this_thread::get_id() == caller ? 1 : 0;
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  EXPECT_EQ(by_caller, 1);
}

TEST(Threads, ATaskThatCallsTheExecutorRunsThatCallItself) {
  const Threads threads = started(3);
  std::atomic<int> inner_tasks{0};
  std::atomic<int> elsewhere{0};
  run(threads.executor(), 10, [&](std::int64_t) {
    const auto outer = std::this_thread::get_id();
    run(threads.executor(), 5, [&](std::int64_t) {
      ++inner_tasks;
      elsewhere += std::this_thread::get_id() == outer ? 0 : 1;
    });
  });
  EXPECT_EQ(inner_tasks, 50);
  EXPECT_EQ(elsewhere, 0);
}

// If a task waited for threads, the two pools would wait for each other.
TEST(Threads, DoNotDeadlockIfTheyCallEachOther) {
  const Threads a = started(2);
  const Threads b = started(2);
  std::atomic<int> innermost{0};
  const auto three_deep = [&](const Threads& first, const Threads& second) {
    run(first.executor(), 4, [&](std::int64_t) {
      run(second.executor(), 4,
          [&](std::int64_t) { run(first.executor(), 4, [&](std::int64_t) { ++innermost; }); });
    });
  };
  std::thread other([&] { three_deep(b, a); });
  three_deep(a, b);
  other.join();
  EXPECT_EQ(innermost, 2 * 4 * 4 * 4);
}

TEST(Threads, CallsFromSeveralThreadsWaitForOneAnother) {
  constexpr std::size_t callers = 4;
  const Threads threads = started(3);
  std::array<std::atomic<int>, callers> tasks_inside{};  // for each caller
  std::atomic<int> meetings{0};
  std::atomic<int> wrong{0};
  const auto call_often = [&](std::size_t caller) {
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<int> visits(9, 0);
      run(threads.executor(), 9, [&](std::int64_t index) {
        ++tasks_inside[caller];
        std::this_thread::yield();
        for (std::size_t other = 0; other < callers; ++other) {
          meetings += other != caller && tasks_inside[other] > 0 ? 1 : 0;
        }
        ++visits[static_cast<std::size_t>(index)];
        --tasks_inside[caller];
      });
      wrong += visits == ones(9) ? 0 : 1;
    }
  };
  std::vector<std::thread> running;
  for (std::size_t caller = 0; caller < callers; ++caller) running.emplace_back(call_often, caller);
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(meetings, 0);
}

TEST(Threads, MoveWithTheirExecutor) {
  Threads first = started(3);
  const Executor executor = first.executor();
  Threads second = std::move(first);
  EXPECT_EQ(visits_of(executor, 100), ones(100));
  EXPECT_EQ(second.executor().context, executor.context);

  Threads third = started(2);
  third = std::move(second);  // stops the threads of third
  EXPECT_EQ(visits_of(executor, 100), ones(100));
  EXPECT_EQ(third.executor().concurrency, 3);
}

TEST(Threads, MovedFromThreadsHaveTheDefaultExecutor) {
  Threads first = started(3);
  const Threads second = std::move(first);
  const Executor executor = first.executor();  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_EQ(executor.run, nullptr);
  EXPECT_EQ(executor.concurrency, 1);
}

TEST(Threads, StartAndStopManyTimes) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Threads threads = started(1 + repeat % 5);
    if (repeat % 2 == 0) {
      ASSERT_EQ(visits_of(threads.executor(), 11), ones(11));
    }
  }
}

// There may be more threads than processors, and the threads fall asleep in pauses.
TEST(Threads, RunEachTaskOnceUnderStress) {
  const Threads threads = started(9);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const std::int64_t count = 2 + repeat % 13;
    ASSERT_EQ(visits_of(threads.executor(), count), ones(count)) << repeat;
    if (repeat % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace
}  // namespace rotary
