// SPDX-License-Identifier: Apache-2.0
// The phase of a fractional position, as a 64-bit fraction of a turn. The position is split exactly
// into a whole part and a fraction. The whole part wraps like any integer position. The fraction's
// phase is computed in integers, because a double would spend its bits on whole turns.
#pragma once

#include <concepts>
#include <cstdint>

#include "phase/turns.hpp"

namespace rotary {

// position = whole ± significand * 2^-right_shift, with minus if `negative`.
struct SplitPosition {
  std::uint64_t whole = 0;        // modulo 2^64
  std::uint64_t significand = 0;  // below 2^53; 0 for an integer
  int right_shift = 64;           // >= 53, so the fraction is below 1
  bool negative = false;

  [[nodiscard]] bool is_integer() const noexcept { return significand == 0; }
};

// Requires -2^63 <= position < 2^63.
[[nodiscard]] SplitPosition split_position(double position) noexcept;
[[nodiscard]] SplitPosition split_position(std::signed_integral auto position) noexcept {
  return {.whole = static_cast<std::uint64_t>(static_cast<std::int64_t>(position))};
}

// position * inv_freq / 2π modulo 1, in units of 2^-64. Requires turns = turns_of(inv_freq). The
// error is at most |position| times the error of turns plus half a unit.
[[nodiscard]] std::uint64_t phase_of(const SplitPosition& position, const Turns& turns) noexcept;

}  // namespace rotary
