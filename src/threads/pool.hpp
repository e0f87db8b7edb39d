// SPDX-License-Identifier: Apache-2.0
// Threads that execute the tasks of one call after another and sleep in between.
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

  // Throws std::system_error if the system has no more threads; keeps those already started.
  void start_thread();

  // Number of threads, the caller included.
  [[nodiscard]] std::int64_t concurrency() const noexcept;

  void run(std::int64_t count, ExecutorTask task, void* state) noexcept;

 private:
  struct Call;

  void serve();

  // True in a process forked from the owner of the threads. The threads do not exist here, and one
  // of them may have held a mutex at the fork.
  [[nodiscard]] bool is_inherited() const noexcept;

  int forks_;  // forks before this pool was made
  std::vector<std::thread> threads_;
  std::mutex one_call_;  // held during a call

  // Held to change the members below. Threads that stay awake read the atomic ones without it.
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::atomic<Call*> call_{nullptr};  // the call whose tasks can be taken
  // Number of threads that use the call. The call must live until the number is 0.
  std::atomic<std::int64_t> threads_in_{0};
  std::atomic<bool> ending_{false};
};

}  // namespace rotary
