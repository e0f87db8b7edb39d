// SPDX-License-Identifier: Apache-2.0
// Who works on which tokens: a call is cut into parts of consecutive tokens, one for each task of
// the executor. A token is never cut, so every part computes the bits that the whole would.
#pragma once

#include <cstdint>

#include "rotary/executor.hpp"

namespace rotary {

// Tokens [begin, end) of all batch rows, counted row after row: token t of row b is b*tokens + t.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The work on tokens [range.begin, range.end), on any thread.
struct TokenWork {
  void (*apply)(const void* state, TokenRange range) noexcept;
  const void* state;
};

// Cuts tokens [0, tokens) of all batch rows into as many parts as are worth it. Calls the executor
// at most once; not when the call is too small to be cut. A run that throws ends the program: other
// parts may still be writing, so there is no state to return to.
void run_in_parts(std::int64_t tokens, const TokenWork& work, const Executor& executor) noexcept;

}  // namespace rotary
