// SPDX-License-Identifier: Apache-2.0
// Measures training steps in processor time.
#pragma once

#include <functional>
#include <optional>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// For a cell with cost_lengths: metrics "ms@512", and "overhead@512" relative to the same model
// without positions. The two models take steps alternately, so that other load affects both. Takes
// the fastest step after a warm-up. A step has as many tokens as the cell's, rounded down to whole
// sequences. The validation loss is that after the steps at the first length. `stops` is asked
// after each length; absent if it returned true.
[[nodiscard]] std::optional<Outcome> cost_outcome(const Cell& cell, const Dataset& data,
                                                  const std::function<bool()>& stops);

// A cell's processor seconds per step and per validation: the median of a few after a warm-up. Uses
// its own initial weights.
struct ProbedTimes {
  double step_s = 0;
  double validation_s = 0;
};
[[nodiscard]] ProbedTimes probe_times(Cell cell, const Dataset& data);

}  // namespace rotary::lab
