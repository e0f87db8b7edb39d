// SPDX-License-Identifier: Apache-2.0
// Assigns pairs to axes by the tensor operations of Transformers 5.23: slice, concatenate, stack.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/axes.hpp"

namespace rotary::reference {

// A pair's frequency is entry `place` of the window's table (shared, in_turn) or of its axis's
// table (own).
struct PairSource {
  std::int64_t axis = 0;
  std::int64_t place = 0;
};

// The source of each pair. Requires valid axes.
[[nodiscard]] std::vector<PairSource> pair_sources(const Axes& axes);

}  // namespace rotary::reference
