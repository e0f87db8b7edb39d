// SPDX-License-Identifier: Apache-2.0
// Where two explanations of the same numbers part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "identify/edits.hpp"
#include "identify/operation.hpp"

namespace rotary::identification {

// How far the vectors of both are apart at one position, for the first head of the sample, relative
// to its length.
class Distance {
 public:
  Distance(const Operation& one, const Operation& other, const Start& start);

  // The smallest position, or grid of coordinates from it on, at which rounding does not hide the
  // difference.
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
