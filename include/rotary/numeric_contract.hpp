// SPDX-License-Identifier: Apache-2.0
// The error bounds that this library promises, as functions, so that a test, a tool or a user reads
// the same number. Derivations and the worst cases seen: docs/numeric-contract.md.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "rotary/rotate.hpp"

namespace rotary {

// Error of the angle's cos or sin before the one rounding to float32, for A = 1: half a unit of the
// 64-bit fraction of a turn for each position, and the double arithmetic behind it.
[[nodiscard]] inline double angle_error_bound(std::int64_t position) noexcept {
  return 2 * std::numbers::pi * std::abs(static_cast<double>(position)) * 0x1p-65 + 0x1p-50;
}

// |row element - A cos(p inv_freq)| where exact is that product (or the one with sin).
[[nodiscard]] inline double row_error_bound(double exact, double attention_factor,
                                            std::int64_t position) noexcept {
  const auto nearest = std::abs(static_cast<float>(exact));
  const auto next = std::nextafter(nearest, std::numeric_limits<float>::infinity());
  const double half_ulp = (static_cast<double>(next) - static_cast<double>(nearest)) / 2;
  return half_ulp + attention_factor * angle_error_bound(position);
}

// |each component of a rotated float32 pair - exact| in units of 2^-24 * hypot(exact pair), where
// the exact pair is the real linear map of the float32 input; hypot in [2^-100, 2^100]. Three
// roundings meet in the worst case: the row's, a product's, the sum's (the inverse of A != 1 also
// rounds 1/A^2 and its product with the row).
[[nodiscard]] inline double rotate_error_bound(Direction direction, double attention_factor,
                                               std::int64_t position) noexcept {
  const double roundings = direction == Direction::inverse && attention_factor != 1 ? 5 : 3;
  return roundings * (1 + 0x1p-20) + std::numbers::sqrt2 * angle_error_bound(position) * 0x1p24;
}

// The same for a bf16 result: the float32 result rounded once to 8 bits of significand.
[[nodiscard]] inline double rotate_bf16_error_bound(Direction direction, double attention_factor,
                                                    std::int64_t position) noexcept {
  const double float_units = rotate_error_bound(direction, attention_factor, position);
  return float_units + (1 + float_units * 0x1p-24) * 0x1p16;  // 2^-8 relative = 2^16 units
}

}  // namespace rotary
