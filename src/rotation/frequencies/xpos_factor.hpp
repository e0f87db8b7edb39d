// SPDX-License-Identifier: Apache-2.0
// xPos multiplies a pair's cos and sin by ζ^((position - center) / scale_base) for a query and by
// the reciprocal for a key. The factors are powers of 2 with exactly opposite exponents.
#pragma once

#include <cstdint>

#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Bound on |log2 of a factor|. With A in [2^-20, 2^20], A times a factor is in [2^-80, 2^80]. There
// float32 is normal, and products with an f16 neither overflow nor underflow.
inline constexpr double most_xpos_doublings = 60;

[[nodiscard]] Status validate(const Xpos& xpos);

// Checks that |log2| of all factors at these positions is at most most_xpos_doublings. Requires
// valid xpos and positions.
[[nodiscard]] Status check_xpos_range(const Xpos& xpos, const Positions& positions);

// log2 of a pair's factor one position after the center. n positions after, log2 is n times this.
[[nodiscard]] long double xpos_doublings(const Xpos& xpos, Role role, std::int64_t pair,
                                         std::int64_t pairs) noexcept;

// 2^doublings with relative error below 2^-51.6 (docs/numeric-contract.md). Requires doublings
// within ±most_xpos_doublings.
[[nodiscard]] double xpos_factor(long double doublings) noexcept;

}  // namespace rotary
