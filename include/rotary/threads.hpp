// SPDX-License-Identifier: Apache-2.0
// A thread pool for programs without one, in a separate library, rotary::threads.
//
//   const auto pool = Threads::start();
//   rotate(q, q, rotations, {.executor = pool->executor()});
#ifndef ROTARY_THREADS_HPP
#define ROTARY_THREADS_HPP

#include <cstdint>
#include <memory>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

// A fixed number of threads, which go to sleep some microseconds after a call. Calls from several
// threads wait for one another. If a task uses an executor of Threads, its inner call runs on the
// task's own thread.
//
// A process made by fork() has none of these threads. There an executor runs each call on the
// calling thread, with the same bits, and the destructor waits for no thread. Threads started there
// work as usual. A task that forks must not return in the child.
//
// A library loaded with dlopen() may be unloaded when all Threads objects are destroyed.
class Threads {
 public:
  // concurrency includes the calling thread: 2 starts one thread. 0: the number of processors in
  // the calling thread's affinity mask, at most 1024. Errors: invalid_argument outside [0, 1024];
  // out_of_memory, also when the system has no more threads.
  [[nodiscard]] ROTARY_API static Result<Threads> start(std::int64_t concurrency = 0) noexcept;

  ROTARY_API Threads(Threads&& other) noexcept;
  ROTARY_API Threads& operator=(Threads&& other) noexcept;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ROTARY_API ~Threads();  // ends the threads; no call may be in progress

  // Valid as long as the threads live, even if this object is moved. Default if it was moved from.
  [[nodiscard]] ROTARY_API Executor executor() const noexcept;

 private:
  class Pool;
  explicit Threads(std::unique_ptr<Pool> pool) noexcept;
  std::unique_ptr<Pool> pool_;
};

}  // namespace rotary

#endif  // ROTARY_THREADS_HPP
