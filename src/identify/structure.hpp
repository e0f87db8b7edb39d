// SPDX-License-Identifier: Apache-2.0
// Findings without a hypothesis: which features turn together (from norms), and how fast (from
// angles).
#pragma once

#include <optional>
#include <vector>

#include "identify/operation.hpp"
#include "identify/sample.hpp"

namespace rotary::identification {

// The layouts whose pairs keep their norms, sorted by deviation. Among equals, `expected` is first,
// if given. Never empty: if nothing turned, it has one layout that is not rotated.
[[nodiscard]] std::vector<FoundStructure> structures_of(const Sample& sample,
                                                        const std::optional<HeadWindow>& expected);

// The radians that each pair turns from one token to the next; empty if no two tokens have
// positions that differ by 1.
[[nodiscard]] std::vector<double> measured_turns(const Sample& sample, const HeadWindow& window);

// The smallest angle, in radians, that rounding does not hide.
[[nodiscard]] double smallest_turn(const Sample& sample) noexcept;

// The base whose frequencies base^(-2i/d) fit the fast pairs best. Empty if fewer than 3 of them
// can be measured.
[[nodiscard]] std::optional<double> base_of_turns(const std::vector<double>& turns,
                                                  double smallest);

// The number with the fewest digits whose relative distance from this one is at most `relative`.
[[nodiscard]] double with_few_digits(double number, double relative) noexcept;

}  // namespace rotary::identification
