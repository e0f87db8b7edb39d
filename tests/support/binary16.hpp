// SPDX-License-Identifier: Apache-2.0
// Converts IEEE binary16 to and from double. Rounds to nearest, ties to even. Uses the C library's
// arithmetic, to be independent of the kernels, which work on bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rotary::test {

[[nodiscard]] inline double from_binary16(std::uint16_t bits) noexcept {
  const double sign = bits >= 0x8000 ? -1 : 1;
  const int exponent = bits / 1024 % 32;
  const int fraction = bits % 1024;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent < 31) return sign * std::ldexp(1 + fraction / 1024.0, exponent - 15);
  if (fraction != 0) return std::numeric_limits<double>::quiet_NaN();
  return sign * std::numeric_limits<double>::infinity();
}

[[nodiscard]] inline std::uint16_t to_binary16(double value) noexcept {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign + 0x7E00);
  if (value == 0) return static_cast<std::uint16_t>(sign);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign + 0x7C00);
  // In units of the binade's spacing; a carry into the next binade needs no special case.
  const int exponent = std::max(std::ilogb(value), -14);
  const double units = std::nearbyint(std::ldexp(std::abs(value), 10 - exponent));
  const double number = units + 1024 * (exponent + 14);
  return static_cast<std::uint16_t>(sign + static_cast<int>(std::min(number, double{0x7C00})));
}

}  // namespace rotary::test
