// SPDX-License-Identifier: Apache-2.0
// A frequency as a 64-bit fraction of a turn: position * turns wraps modulo 2^64 exactly as the
// angle wraps modulo 2π, so no position is too large and no range reduction is needed.
#pragma once

#include <cstdint>

namespace rotary {

inline constexpr double max_inv_freq = 0x1p40;

// whole + fraction * 2^-64 turns.
struct Turns {
  std::uint64_t whole = 0;  // below 2^38
  std::uint64_t fraction = 0;
};

// inv_freq / 2π, rounded to the nearest 2^-64 (error at most 1/2 + 2^-80 units of that).
// Requires 0 <= inv_freq < max_inv_freq.
[[nodiscard]] Turns turns_of(double inv_freq) noexcept;

// Its fraction: what a step of one whole position turns, but for whole turns.
[[nodiscard]] inline std::uint64_t turns_per_position(double inv_freq) noexcept {
  return turns_of(inv_freq).fraction;
}

}  // namespace rotary
