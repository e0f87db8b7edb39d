// SPDX-License-Identifier: Apache-2.0
// Linear attention by its definition, a weight for each pair of a query and a key: quadratic in the
// tokens, without reduced exponents or shared sums. Katharopoulos et al. 2020 (arXiv 2006.16236),
// eq. 4; Choromanski et al. 2021 (arXiv 2009.14794), eq. 5; RoFormer (arXiv 2104.09864), eq. 19.
#pragma once

#include <span>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::reference {

enum class Side { query, key };

// A vector's features, before and after rotation, and the sizes that weights are measured by.
struct MappedVector {
  std::vector<long double> features;
  std::vector<long double> turned;  // the features themselves without rotation
  std::vector<long double> sizes;   // hypot of each pair that turns, then features that do not
};

[[nodiscard]] MappedVector map_features(std::span<const long double> x, const FeatureMap& map,
                                        Side side);

// Requires features of the window's head_dim.
void turn_features(MappedVector& vector, const HeadWindow& window, std::span<const CosSin> angles);

// A key that a query sees.
struct KeyValue {
  const MappedVector& key;
  std::span<const long double> value;  // [v features]
};

struct LinearRow {
  std::vector<long double> out;      // [v features]
  std::vector<long double> size;     // Σ |weight| |v| / denominator, [v features]
  std::vector<long double> weights;  // of each key, divided by the denominator
};

// epsilon as in LinearAttentionOptions.
[[nodiscard]] LinearRow linear_row(const MappedVector& query, std::span<const KeyValue> keys,
                                   const FeatureMap& map, long double epsilon,
                                   std::size_t v_features);

}  // namespace rotary::reference
