// SPDX-License-Identifier: Apache-2.0
// Executor: runs the parts of a call. This library starts no thread; an engine passes its own pool.
// rotary/threads.hpp has a pool for programs without one.
//
//   rotate(q, q, rotations, {.executor = pool.executor()});
#ifndef ROTARY_EXECUTOR_HPP
#define ROTARY_EXECUTOR_HPP

#include <cstdint>

namespace rotary {

// Must not throw.
using ExecutorTask = void (*)(void* state, std::int64_t index);

// A value, not owned: context must live until the call that it is passed to returns. The default
// runs everything on the calling thread.
struct Executor {
  void* context = nullptr;  // passed to run

  // Calls task(state, index) exactly once for each index in [0, count), on any threads and in any
  // order, and returns when all tasks have returned; their writes must then be visible to the
  // caller. Must not throw: other tasks may still be writing, so the program ends. nullptr: calls
  // are not split.
  void (*run)(void* context, std::int64_t count, ExecutorTask task, void* state) = nullptr;

  // The number of tasks that can run at once: a call is split into at most this many. Below 2 calls
  // are not split.
  std::int64_t concurrency = 1;
};

}  // namespace rotary

#endif  // ROTARY_EXECUTOR_HPP
