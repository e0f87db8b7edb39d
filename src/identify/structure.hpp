// SPDX-License-Identifier: Apache-2.0
// Findings without a hypothesis: which features turn together, from norms; and how fast, from
// angles.
#pragma once

#include <optional>
#include <vector>

#include "identify/operation.hpp"
#include "identify/sample.hpp"

namespace rotary::identification {

// Layouts whose pairs keep their norms, the one that deviates least first; `expected`, if any,
// comes before others that do as well. Not empty. Where nothing turned, one that is not rotated.
[[nodiscard]] std::vector<FoundStructure> structures_of(const Sample& sample,
                                                        const std::optional<HeadWindow>& expected);

// Radians that each pair turns from one token to the next; empty where no two tokens have positions
// that differ by 1.
[[nodiscard]] std::vector<double> measured_turns(const Sample& sample, const HeadWindow& window);

// The smallest angle that can be told from none.
[[nodiscard]] double smallest_turn(const Sample& sample) noexcept;

// The base of frequencies base^(-2i/d) that fits the fast pairs best; absent where fewer than 3 of
// them can be measured.
[[nodiscard]] std::optional<double> base_of_turns(const std::vector<double>& turns,
                                                  double smallest);

// The number within `relative` of this one that has the fewest digits.
[[nodiscard]] double with_few_digits(double number, double relative) noexcept;

}  // namespace rotary::identification
