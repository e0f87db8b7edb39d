// SPDX-License-Identifier: Apache-2.0
// Threads that take the tasks of one call after another, and sleep in between.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "rotary/threads.hpp"

namespace rotary {

class Threads::Pool {
 public:
  Pool();  // throws std::bad_alloc
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  // Throws std::system_error when the system has no more threads; those started before remain.
  void start_thread();

  // With the caller.
  [[nodiscard]] std::int64_t concurrency() const noexcept;

  // As Executor::run.
  void run(std::int64_t count, ExecutorTask task, void* state) noexcept;

 private:
  struct Call;

  void serve();

  // Whether this process was forked from the one that has the threads: they do not exist here, and
  // who holds a mutex or waits may be one of them.
  [[nodiscard]] bool is_inherited() const noexcept;

  int forks_;  // before the pool was made
  std::vector<std::thread> threads_;
  std::mutex one_call_;  // held by a call from its first task to its last

  // What is below changes under mutex_; a thread that stays awake for a moment looks at it without.
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::atomic<Call*> call_{nullptr};  // with tasks left to take
  std::atomic<std::int64_t> threads_in_{
      0};  // working on a call, which must live until they are out
  std::atomic<bool> ending_{false};
};

}  // namespace rotary
