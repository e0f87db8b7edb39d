// SPDX-License-Identifier: Apache-2.0
// Rotation with two angles per pair by the tensor operations of Transformers 5.23: repeat, split,
// stack.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::reference {

// The angle of one feature: coordinate `axis` times base^exponent.
struct FeatureSource {
  std::int64_t axis = 0;
  long double exponent = 0;
};

// hunyuan_vl: emb = cat(freqs, freqs), cut into sections of 2 * sections[axis] features.
[[nodiscard]] std::vector<FeatureSource> hunyuan_vl_features(
    std::int64_t head_dim, std::span<const std::int64_t> sections);

// vjepa2: three parts of the head, one for each axis, each with omega.repeat(2).
[[nodiscard]] std::vector<FeatureSource> vjepa2_features(std::int64_t head_dim);

// Replaces each feature x of the window by x * cos + partner(x) * sin, with that feature's own cos
// and sin. Other features are unchanged.
void turn_by_two_angles(std::span<long double> head, const HeadWindow& window,
                        std::span<const CosSin> of_features);

}  // namespace rotary::reference
