// SPDX-License-Identifier: Apache-2.0
// Attention under a position map by its definition: one angle for every pair of features, query and
// key.
#pragma once

#include <cstdint>

#include "reference/attention.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::reference {

// The distance from key to query for a pair with this frequency.
[[nodiscard]] long double mapped_distance(const PositionMap& map, std::int64_t query,
                                          std::int64_t key, double inv_freq);

// attention must be causal, with rotary as its only encoding, and no xpos. Weights stay empty.
[[nodiscard]] AttentionResult mapped_attention(const AttentionInputs& inputs,
                                               const Attention& attention, const PositionMap& map);

}  // namespace rotary::reference
