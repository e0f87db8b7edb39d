// SPDX-License-Identifier: Apache-2.0
// Attention under a position map by definition: each pair has its own angle for each query and key.
#pragma once

#include <cstdint>

#include "reference/attention_case.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::reference {

// The distance from key to query for a pair with this frequency.
[[nodiscard]] long double mapped_distance(const PositionMap& map, std::int64_t query,
                                          std::int64_t key, double inv_freq);

// The score of a query and an earlier key. Rotary without xpos must be the only encoding.
[[nodiscard]] double mapped_score(const AttentionCase& of, const PositionMap& map,
                                  const QueryIndex& at, std::int64_t key);

}  // namespace rotary::reference
