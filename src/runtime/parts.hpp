// SPDX-License-Identifier: Apache-2.0
// Cuts a call into parts of consecutive tokens, one for each task of the executor. No token is cut,
// so the bits do not depend on the parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rotary/executor.hpp"

namespace rotary {

// Tokens [begin, end) of all batch rows: token t of row b has index b * tokens + t.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The consecutive items of one part. Sizes of parts differ by at most 1.
[[nodiscard]] constexpr TokenRange part_at(std::int64_t items, std::int64_t parts,
                                           std::int64_t index) noexcept {
  const std::int64_t each = items / parts;
  const std::int64_t longer = items % parts;  // this many parts have one item more
  const std::int64_t begin = index * each + std::min(index, longer);
  return {.begin = begin, .end = begin + each + (index < longer ? 1 : 0)};
}

// Calls task(index) for each index below `tasks`. Runs a single task directly. The executor runs
// several tasks, each in the arithmetic modes `Modes`.
template <class Modes, class Task>
void run_tasks(std::int64_t tasks, Task& task, const Executor& executor) {
  if (tasks == 1) return task(0);
  executor.run(
      executor.context, tasks,
      [](void* state, std::int64_t index) {
        const Modes modes;
        (*static_cast<Task*>(state))(index);
      },
      &task);
}

struct TokenWork {
  void (*apply)(const void* state, TokenRange range) noexcept;
  const void* state;
};

// Cuts tokens [0, tokens) of all batch rows into as many parts as pay off. Calls the executor once,
// or not at all if the call is too small to cut. If the executor throws, the program ends: other
// parts may still be writing, so no valid state is left.
void run_in_parts(std::int64_t tokens, const TokenWork& work, const Executor& executor) noexcept;

}  // namespace rotary
