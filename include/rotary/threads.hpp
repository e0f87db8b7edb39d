// SPDX-License-Identifier: Apache-2.0
// Threads for a program without a thread pool. A separate library, rotary::threads: the core starts
// no thread.
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

// A fixed number of threads that sleep when idle. After a call they stay awake for some
// microseconds, yielding to others. Calls from several threads wait for one another. A task that
// calls an executor of Threads runs that inner call on its own thread.
//
// A process made by fork(), directly or through another fork, has none of these threads. There an
// executor runs each call on the calling thread, with the same bits, whatever the parent's threads
// were doing. A Threads is destroyed there without waiting for any thread. Threads started there
// work as usual. A task that forks must not return in the child.
//
// The library, if loaded with dlopen(), may be unloaded when no Threads is left.
class Threads {
 public:
  // concurrency counts the calling thread, which works too: 2 starts one thread. 0: the number of
  // processors in the affinity mask of the calling thread, 1024 at most. Errors: invalid_argument
  // outside [0, 1024]; out_of_memory, also when the system has no more threads.
  [[nodiscard]] ROTARY_API static Result<Threads> start(std::int64_t concurrency = 0) noexcept;

  ROTARY_API Threads(Threads&& other) noexcept;
  ROTARY_API Threads& operator=(Threads&& other) noexcept;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ROTARY_API ~Threads();  // ends the threads; no call may be in progress

  // Valid as long as this lives, moves included. A moved-from Threads has the default executor.
  [[nodiscard]] ROTARY_API Executor executor() const noexcept;

 private:
  class Pool;
  explicit Threads(std::unique_ptr<Pool> pool) noexcept;
  std::unique_ptr<Pool> pool_;
};

}  // namespace rotary

#endif  // ROTARY_THREADS_HPP
