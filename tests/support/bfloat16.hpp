// SPDX-License-Identifier: Apache-2.0
// Converts bfloat16 to and from float. Rounds to nearest, ties to even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace rotary::test {

[[nodiscard]] inline float from_bfloat16(std::uint16_t upper) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16);
}

[[nodiscard]] inline std::uint16_t to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto below = static_cast<std::uint16_t>(bits >> 16);  // rounded towards zero
  if (std::isnan(value)) return static_cast<std::uint16_t>(below | 0x40U);
  const std::uint32_t remainder = bits & 0xFFFFU;
  const bool is_odd = (below & 1U) != 0;
  const bool goes_up = remainder > 0x8000U || (remainder == 0x8000U && is_odd);
  return static_cast<std::uint16_t>(below + (goes_up ? 1 : 0));
}

}  // namespace rotary::test
