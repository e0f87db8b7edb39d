// SPDX-License-Identifier: Apache-2.0
// Who rotates which tokens: a call is cut into parts of consecutive tokens, one for each task of
// the executor. A token is never cut, so every part computes the bits that the whole would.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"
#include "rotary/executor.hpp"
#include "rotary/rotate.hpp"
#include "rotation/apply_rotations.hpp"

namespace rotary {

// What one call does, once every check has passed.
struct Rotation {
  std::span<const Transfer> transfers;  // of the same batch and tokens
  const Rotations& rotations;
  Direction direction;
  const kernels::KernelTable& kernels;
};

// What is done with tokens [range.begin, range.end), on any thread.
struct TokenWork {
  void (*apply)(const void* state, TokenRange range) noexcept;
  const void* state;
};

// Cuts tokens [0, tokens) of all batch rows into as many parts as are worth it. Calls the executor
// at most once; not when the call is too small to be cut.
void run_in_parts(std::int64_t tokens, const TokenWork& work, const Executor& executor) noexcept;

// The same for a rotation. Calls the executor at most once; not when the call is too small to be
// cut. A run that throws ends the program: other parts may still be writing, so there is no state
// to return to.
void apply_in_parts(const Rotation& rotation, const Executor& executor) noexcept;

}  // namespace rotary
