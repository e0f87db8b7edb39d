// SPDX-License-Identifier: Apache-2.0
// Executors like those that callers write. CountingExecutor counts calls and tasks.
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

#include "rotary/executor.hpp"

namespace rotary::test {

using Run = void (*)(std::int64_t count, ExecutorTask task, void* state);

inline void run_in_order(std::int64_t count, ExecutorTask task, void* state) {
  for (std::int64_t index = 0; index < count; ++index) task(state, index);
}

inline void run_backwards(std::int64_t count, ExecutorTask task, void* state) {
  for (std::int64_t index = count; index-- > 0;) task(state, index);
}

// Runs all tasks at once on new threads only.
inline void run_on_other_threads(std::int64_t count, ExecutorTask task, void* state) {
  std::vector<std::thread> threads;
  for (std::int64_t index = 0; index < count; ++index) threads.emplace_back(task, state, index);
  for (std::thread& thread : threads) thread.join();
}

class CountingExecutor {
 public:
  CountingExecutor(Run run, std::int64_t concurrency) : run_(run), concurrency_(concurrency) {}

  // The executor is valid while this object lives and stays in place.
  [[nodiscard]] Executor executor() noexcept {
    return {.context = this,
            .run =
                [](void* context, std::int64_t count, ExecutorTask task, void* state) {
                  auto& self = *static_cast<CountingExecutor*>(context);
                  ++self.calls_;
                  self.tasks_ = count;
                  self.run_(count, task, state);
                },
            .concurrency = concurrency_};
  }

  [[nodiscard]] std::int64_t calls() const noexcept { return calls_; }
  [[nodiscard]] std::int64_t tasks() const noexcept { return tasks_; }  // in the latest call

 private:
  Run run_;
  std::int64_t concurrency_;
  std::int64_t calls_ = 0;
  std::int64_t tasks_ = 0;
};

}  // namespace rotary::test
