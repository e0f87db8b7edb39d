// SPDX-License-Identifier: Apache-2.0
// Attention under a position map by its definition: the angle of every pair of features of every
// query with every key.
#pragma once

#include <cstdint>

#include "reference/attention.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::reference {

// Positions from key to query, as a pair of this frequency sees them.
[[nodiscard]] long double mapped_distance(const PositionMap& map, std::int64_t query,
                                          std::int64_t key, double inv_freq);

// attention must be causal, with rotary alone in its encoding, and no xpos. Weights stay empty.
[[nodiscard]] AttentionResult mapped_attention(const AttentionInputs& inputs,
                                               const Attention& attention, const PositionMap& map);

}  // namespace rotary::reference
