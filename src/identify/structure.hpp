// SPDX-License-Identifier: Apache-2.0
// Findings without a hypothesis: which features form a pair (from norms), and how fast pairs rotate
// (from angles).
#pragma once

#include <optional>
#include <vector>

#include "identify/operation.hpp"
#include "identify/sample.hpp"

namespace rotary::identification {

// The layout whose pairs keep their norms best; `expected`, if given, precedes layouts that fit
// equally well. If no feature changed, it is not `rotated`.
[[nodiscard]] FoundStructure structure_of(const Sample& sample,
                                          const std::optional<HeadWindow>& expected);

// The radians that each pair rotates from one token to the next. Empty unless some token's position
// is one higher than the previous token's on all axes.
[[nodiscard]] std::vector<double> measured_turns(const Sample& sample, const HeadWindow& window);

// The smallest angle, in radians, that rounding does not hide.
[[nodiscard]] double smallest_turn(const Sample& sample) noexcept;

// The base whose frequencies base^(-2i/d) fit the fast pairs best. Empty if it is implausible or
// fewer than 2 pairs after the first are fast.
[[nodiscard]] std::optional<double> base_of_turns(const std::vector<double>& turns,
                                                  double smallest);

// The number with the fewest digits whose relative distance from `number` is at most `relative`.
[[nodiscard]] double with_few_digits(double number, double relative) noexcept;

}  // namespace rotary::identification
