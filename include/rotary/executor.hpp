// SPDX-License-Identifier: Apache-2.0
// Who runs the parts of a call. This library starts no thread: an engine passes the pool that it
// has; rotary/threads.hpp has one for those without.
#pragma once

#include <cstdint>

namespace rotary {

// Must not throw.
using ExecutorTask = void (*)(void* state, std::int64_t index);

// A value, not owned: context must live until the call that it is passed to returns. The default
// runs everything on the calling thread.
struct Executor {
  void* context = nullptr;  // passed to run

  // Calls task(state, index) exactly once for each index in [0, count), on any threads and in any
  // order, and returns when all of them have returned; what they wrote must be visible to the
  // caller then. Must not throw: other tasks may still be writing, so the program ends. nullptr:
  // nothing is cut.
  void (*run)(void* context, std::int64_t count, ExecutorTask task, void* state) = nullptr;

  // How many tasks can run at once: a call is cut into at most this many. Below 2 nothing is cut.
  std::int64_t concurrency = 1;
};

}  // namespace rotary
