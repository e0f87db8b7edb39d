// SPDX-License-Identifier: Apache-2.0
// Linear attention by definition, at quadratic cost: each query and key has a weight. Katharopoulos
// et al. 2020 (arXiv 2006.16236), eq. 4; Choromanski et al. 2021 (arXiv 2009.14794), eq. 5;
// RoFormer (arXiv 2104.09864), eq. 19.
#pragma once

#include <span>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::reference {

enum class Side { query, key };

// A vector's features before and after rotation, and the sizes that its errors are relative to.
struct MappedVector {
  std::vector<long double> features;
  std::vector<long double> turned;  // without rotation, equal to features
  std::vector<long double> sizes;   // hypot of each rotated pair, then unrotated features
};

[[nodiscard]] MappedVector map_features(std::span<const long double> x, const FeatureMap& map,
                                        Side side);

// Rotates vector.turned and sets vector.sizes. The vector must have window.head_dim features.
void turn_features(MappedVector& vector, const HeadWindow& window, std::span<const CosSin> angles);

// A key that a query sees.
struct KeyValue {
  const MappedVector& key;
  std::span<const long double> value;  // [v features]
};

struct LinearRow {
  std::vector<long double> out;   // [v features]
  std::vector<long double> size;  // Σ (sizes of q · sizes of k) |v| / denominator, [v features]
  std::vector<long double> weights;  // of each key, divided by the denominator
};

// epsilon as in LinearAttentionOptions.
[[nodiscard]] LinearRow linear_row(const MappedVector& query, std::span<const KeyValue> keys,
                                   const FeatureMap& map, long double epsilon,
                                   std::size_t v_features);

}  // namespace rotary::reference
