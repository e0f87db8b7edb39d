// SPDX-License-Identifier: Apache-2.0
// The factor by which xPos multiplies the row of a pair: ζ^((position - center) / scale_base) of a
// query, its reciprocal of a key. As a power of 2, so that query and key are exact opposites until
// the one rounding of each.
#pragma once

#include <cstdint>

#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// |log2 of a factor|. Times A, at most 2^20, a row stays in [2^-80, 2^80], where float32 loses
// nothing and rotated f16 neither over- nor underflows it.
inline constexpr double most_xpos_doublings = 60;

[[nodiscard]] Status validate(const Xpos& xpos);

// That all factors of these positions are within 2^±most_xpos_doublings. Requires what validate()
// accepts of both.
[[nodiscard]] Status check_xpos_range(const Xpos& xpos, const Positions& positions);

// log2 of the factor for each position from the center, of a pair of so many.
[[nodiscard]] long double xpos_doublings(const Xpos& xpos, Role role, std::int64_t pair,
                                         std::int64_t pairs) noexcept;

// 2^doublings, which lie within ±most_xpos_doublings, off by less than 2^-51.6 of it
// (docs/numeric-contract.md).
[[nodiscard]] double xpos_factor(long double doublings) noexcept;

}  // namespace rotary
