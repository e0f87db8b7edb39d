// SPDX-License-Identifier: Apache-2.0
// The pairs of several axes, put together as the modeling files of huggingface/transformers 5.23
// put their tensors together: slices, concatenations, stacks.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/axes.hpp"

namespace rotary::reference {

// The frequency of a pair: entry `place` of the table of the window (shared, in_turn), or of the
// table of its axis (own).
struct PairSource {
  std::int64_t axis = 0;
  std::int64_t place = 0;
};

// One for each pair. Requires axes that break no requirement.
[[nodiscard]] std::vector<PairSource> pair_sources(const Axes& axes);

}  // namespace rotary::reference
