// SPDX-License-Identifier: Apache-2.0
// Counts of blocks or bytes that views of stride 0 can make absurd.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rotary {

// From here on they are not counted exactly.
inline constexpr std::int64_t beyond_count = std::int64_t{1} << 61;

// The product, or beyond_count. Of counts >= 0.
[[nodiscard]] inline std::int64_t bounded_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? beyond_count : std::min(product, beyond_count);
}

}  // namespace rotary
