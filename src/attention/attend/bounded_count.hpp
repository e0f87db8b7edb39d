// SPDX-License-Identifier: Apache-2.0
// Counts of blocks or bytes, which may be absurdly large because views can have stride 0.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rotary {

// Counts at or above this are not exact.
inline constexpr std::int64_t beyond_count = std::int64_t{1} << 61;

// min(a * b, beyond_count). Requires counts >= 0.
[[nodiscard]] inline std::int64_t bounded_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? beyond_count : std::min(product, beyond_count);
}

}  // namespace rotary
