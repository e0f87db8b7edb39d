// SPDX-License-Identifier: Apache-2.0
// A frequency as a 64-bit fraction of a turn: position * turns wraps modulo 2^64 exactly as the
// angle wraps modulo 2π, so no position is too large and no range reduction is needed.
#pragma once

#include <cstdint>

namespace rotary {

inline constexpr double max_inv_freq = 0x1p40;

// frac(inv_freq / 2π) in units of 2^-64, rounded to the nearest (error at most 1/2 + 2^-80 units).
// Requires 0 <= inv_freq < max_inv_freq.
[[nodiscard]] std::uint64_t turns_per_position(double inv_freq) noexcept;

}  // namespace rotary
