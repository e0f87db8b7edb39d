// SPDX-License-Identifier: Apache-2.0
// A frequency as a 64-bit fraction of a turn: position * turns wraps modulo 2^64 exactly as the
// angle wraps modulo 2π, so no position is too large and no range reduction is needed.
#pragma once

#include <cstdint>

namespace rotary {

inline constexpr double max_inv_freq = 0x1p40;

// ±(whole + fraction * 2^-64) turns.
struct Turns {
  std::uint64_t whole = 0;  // below 2^38
  std::uint64_t fraction = 0;
  bool negative = false;
};

// inv_freq / 2π in units of 2^-64 turn, with an error of at most 1/2 + 2^-80 units. -inv_freq gives
// the negative result. Requires |inv_freq| < max_inv_freq.
[[nodiscard]] Turns turns_of(double inv_freq) noexcept;

// Turns per position modulo 1, in units of 2^-64.
[[nodiscard]] inline std::uint64_t turns_per_position(double inv_freq) noexcept {
  const Turns turns = turns_of(inv_freq);
  return turns.negative ? 0 - turns.fraction : turns.fraction;
}

}  // namespace rotary
