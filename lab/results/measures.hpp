// SPDX-License-Identifier: Apache-2.0
// Numbers of finished cells, and what they say about a claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lab/results/results.hpp"

namespace rotary::lab {

// Null where no cell of it is finished. Of a family by its name: the arm with the lowest mean loss.
[[nodiscard]] const ArmResult* find_arm(const Results& results, const std::string& name);

[[nodiscard]] const CellResult* find_cell(const ArmResult& arm, std::uint64_t seed);

// Besides what an outcome has: metric "steps_to@ARM", the steps until the validation loss is that
// of ARM's end, with the same seed, as a fraction of ARM's steps. Where it never is, all of the
// cell's steps stand for it, which is too few. Metric "NAME@rates", of an arm of a family: the mean
// of NAME over all arms of the family, with the same seed. "sensitivity@rates" (Wortsman et al.
// 2023, arXiv 2309.14322): the mean over the family of the loss at the end, at most that
// of a model that knows nothing, less the family's best loss. Absent where it was not measured.
[[nodiscard]] std::optional<double> value_of(const Results& results, const CellResult& cell,
                                             const Measure& measure);

// Mean over seeds, and its interval where there are two and more.
struct Summary {
  double mean = 0;
  std::optional<Interval> interval;
  std::size_t seeds = 0;
};
[[nodiscard]] std::optional<Summary> summary_of(const Results& results, const ArmResult& arm,
                                                const Measure& measure);

// The validation loss at the end; absent for cells without a curve, which measure costs.
[[nodiscard]] std::optional<Summary> loss_summary(const ArmResult& arm);

[[nodiscard]] ClaimResult judge_claim(const Results& results, const Claim& claim);

// "rope yarn 2x, last quarter"
[[nodiscard]] std::string text_of(const Measure& measure);

}  // namespace rotary::lab
