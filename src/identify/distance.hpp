// SPDX-License-Identifier: Apache-2.0
// Finds a position at which two explanations of the same numbers visibly differ.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "identify/edits.hpp"
#include "identify/operation.hpp"

namespace rotary::identification {

// The relative difference between the results of two operations at one position, for the longest
// vector of the sample.
class Distance {
 public:
  Distance(const Operation& one, const Operation& other, const Start& start);

  // A position at which the difference is larger than rounding. Searches upwards in growing steps,
  // then bisects. on_grid: gives axes different coordinates, and returns that of the first axis.
  [[nodiscard]] std::optional<std::int64_t> first_visible(bool on_grid);

 private:
  [[nodiscard]] bool visible(std::int64_t position, bool on_grid);

  const Operation& one_;
  const Operation& other_;
  std::optional<Turning> turning_;
  std::optional<Turning> other_turning_;
  Sample single_;
  double noise_;
  std::vector<double> predicted_;
  std::vector<double> other_predicted_;
};

}  // namespace rotary::identification
