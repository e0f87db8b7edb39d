// SPDX-License-Identifier: Apache-2.0
#include "phase/fractional_phase.hpp"

#include <cmath>

namespace rotary {
namespace {

__extension__ using uint128 = unsigned __int128;

// significand * turns * 2^-right_shift, rounded to the nearest unit, modulo 2^64. The product has
// up to 155 bits: the lowest 64 are in `low`, the others in `high`.
std::uint64_t part_of(const Turns& turns, std::uint64_t significand, int right_shift) noexcept {
  const uint128 factor = significand;
  const uint128 of_fraction = factor * turns.fraction;
  const auto low = static_cast<std::uint64_t>(of_fraction);
  const uint128 high = factor * turns.whole + (of_fraction >> 64);
  constexpr uint128 one = 1;
  if (right_shift <= 64) {
    // Bits from 128 on are whole turns and drop out.
    const uint128 product = (high << 64) | low;
    return static_cast<std::uint64_t>((product + (one << (right_shift - 1))) >> right_shift);
  }
  const int shift = right_shift - 64;
  if (shift > 92) return 0;  // high < 2^92
  return static_cast<std::uint64_t>((high + ((one << shift) >> 1)) >> shift);
}

}  // namespace

SplitPosition split_position(double position) noexcept {
  const double whole = std::trunc(position);
  SplitPosition parts{.whole = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole))};
  if (position == whole) return parts;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(position - whole), &exponent);
  parts.significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  parts.right_shift = 53 - exponent;
  parts.negative = position < 0;
  return parts;
}

std::uint64_t phase_of(const SplitPosition& position, const Turns& turns) noexcept {
  const std::uint64_t whole = position.whole * turns.fraction;
  const std::uint64_t part = part_of(turns, position.significand, position.right_shift);
  const std::uint64_t phase = position.negative ? whole - part : whole + part;
  return turns.negative ? 0 - phase : phase;
}

}  // namespace rotary
