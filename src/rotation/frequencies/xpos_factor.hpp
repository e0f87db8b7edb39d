// SPDX-License-Identifier: Apache-2.0
// The factor by which xPos multiplies a pair's row: ζ^((position - center) / scale_base) for a
// query, its reciprocal for a key. Computed as a power of 2, so that query and key are exact
// opposites until each is rounded once.
#pragma once

#include <cstdint>

#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Bound on |log2 of a factor|. With A up to 2^20, a row stays in [2^-80, 2^80]. In this range
// float32 loses nothing, and a product with an f16 neither overflows nor underflows.
inline constexpr double most_xpos_doublings = 60;

[[nodiscard]] Status validate(const Xpos& xpos);

// Checks that all factors of these positions are within 2^±most_xpos_doublings. Requires an xpos
// and positions that validate() accepts.
[[nodiscard]] Status check_xpos_range(const Xpos& xpos, const Positions& positions);

// log2 of the factor per position from the center, for pair `pair` of `pairs`.
[[nodiscard]] long double xpos_doublings(const Xpos& xpos, Role role, std::int64_t pair,
                                         std::int64_t pairs) noexcept;

// 2^doublings with relative error below 2^-51.6 (docs/numeric-contract.md). Requires doublings
// within ±most_xpos_doublings.
[[nodiscard]] double xpos_factor(long double doublings) noexcept;

}  // namespace rotary
