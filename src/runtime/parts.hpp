// SPDX-License-Identifier: Apache-2.0
// Cuts a call into parts of consecutive tokens, one for each task of the executor. A token is never
// cut, so every part computes the same bits as the whole call would.
#pragma once

#include <cstdint>

#include "rotary/executor.hpp"

namespace rotary {

// Tokens [begin, end) of all batch rows: token t of row b has index b * tokens + t.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A function that processes tokens [range.begin, range.end), on any thread.
struct TokenWork {
  void (*apply)(const void* state, TokenRange range) noexcept;
  const void* state;
};

// Cuts tokens [0, tokens) of all batch rows into as many parts as pay off. Calls the executor at
// most once, and not at all if the call is too small to be cut. If the executor's run throws, the
// program ends: other parts may still be writing, so there is no state to return to.
void run_in_parts(std::int64_t tokens, const TokenWork& work, const Executor& executor) noexcept;

}  // namespace rotary
