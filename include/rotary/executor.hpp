// SPDX-License-Identifier: Apache-2.0
// Executor: runs parts of a call on the caller's threads. This library starts no thread;
// rotary/threads.hpp has a pool for programs without one.
//
//   rotate(q, q, rotations, {.executor = pool.executor()});
#ifndef ROTARY_EXECUTOR_HPP
#define ROTARY_EXECUTOR_HPP

#include <cstdint>

namespace rotary {

// One part of a call; it must not throw.
using ExecutorTask = void (*)(void* state, std::int64_t index);

// context must live until the call returns. The default runs everything on the calling thread.
struct Executor {
  void* context = nullptr;  // first argument of run

  // Calls task(state, index) exactly once for each index in [0, count), on any threads and in any
  // order, and returns when all tasks have returned; their writes must then be visible to the
  // caller. An exception from run ends the program. nullptr: calls are not split.
  void (*run)(void* context, std::int64_t count, ExecutorTask task, void* state) = nullptr;

  // The most tasks that a call is split into. Below 2: calls are not split.
  std::int64_t concurrency = 1;
};

}  // namespace rotary

#endif  // ROTARY_EXECUTOR_HPP
