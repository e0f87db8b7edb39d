// SPDX-License-Identifier: Apache-2.0
// inv_freq is an integer significand times a power of two. The code multiplies the significand by
// 1/2π, held as a 192-bit fraction, and shifts the product. A division in double would have a
// relative error of 2^-54, which is 7 float ulps of cos at position 2^32.
#include "phase/turns.hpp"

#include <cmath>

namespace rotary {
namespace {

__extension__ using uint128 = unsigned __int128;

// floor(2^192 / 2π), highest word first; 1/2π = 0.15915494309189533576888…
constexpr std::uint64_t inverse_two_pi[3] = {0x28BE60DB9391054A, 0x7F09D5F47D4D3770,
                                             0x36D8A5664F10E410};

// floor(significand * 2^64 / 2π), for a significand below 2^53.
uint128 times_inverse_two_pi(std::uint64_t significand) noexcept {
  const uint128 factor = significand;
  const uint128 lowest = (factor * inverse_two_pi[2]) >> 64;
  const uint128 low = (factor * inverse_two_pi[1] + lowest) >> 64;
  return factor * inverse_two_pi[0] + low;
}

}  // namespace

Turns turns_of(double inv_freq) noexcept {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(inv_freq), &exponent);  // times 2^exponent
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const uint128 product = times_inverse_two_pi(significand);  // in units of 2^(exponent-53-64) turn
  const int right_shift = 53 - exponent;                      // to units of 2^-64 turn; at least 13
  if (right_shift > 120) return {};                           // product < 2^116: below half a unit
  const uint128 half = static_cast<uint128>(1) << (right_shift - 1);
  const uint128 units = (product + half) >> right_shift;
  return {.whole = static_cast<std::uint64_t>(units >> 64),
          .fraction = static_cast<std::uint64_t>(units),
          .negative = inv_freq < 0};
}

}  // namespace rotary
