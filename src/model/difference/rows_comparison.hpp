// SPDX-License-Identifier: Apache-2.0
// Compares the rows of two rotations, span by span, because frequencies may depend on the context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/difference/drifting_pair.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

class RowsComparison {
 public:
  // Requires windows with the same head_dim.
  RowsComparison(const HeadWindow& one, const HeadWindow& other);

  // Compares the rows of a span, and the scores of queries at its last position. Requires
  // frequencies that fit the windows.
  void add(const Frequencies& one, const Frequencies& other, PositionSpan span);

  [[nodiscard]] bool found_first() const noexcept { return found_.first_position.has_value(); }
  [[nodiscard]] RowsDifference result() &&;

 private:
  // The rotation of a feature: factor * (cos(turns) * itself + sin(turns) * its partner).
  struct Feature {
    std::uint64_t turns = 0;
    double factor = 1;
    std::optional<std::size_t> partner = {};  // empty: the feature does not change
  };

  [[nodiscard]] static std::vector<Feature> features_of(const Frequencies& frequencies);
  void add_pairs(const Frequencies& one, const Frequencies& other, PositionSpan span);
  void add_features(const Frequencies& one, const Frequencies& other, PositionSpan span);
  void find_first(const std::vector<DriftingPair>& pairs, PositionSpan span);
  void take_angle(double drift, double squared_factors_one, double squared_factors_other,
                  std::size_t pair);
  void take_correlation(double correlation, std::int64_t distance);

  RowsDifference found_;
  std::vector<bool> differs_;  // [pairs]
};

}  // namespace rotary
