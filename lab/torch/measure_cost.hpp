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
// the fastest step after a warm-up. A step has as many tokens as the cell's, rounded down to entire
// sequences. The validation loss is measured after the steps at the first length. Calls `stops`
// before each length; absent if it returned true.
[[nodiscard]] std::optional<Outcome> cost_outcome(const Cell& cell, const Dataset& data,
                                                  const std::function<bool()>& stops);

// A cell's processor seconds: the median of a few steps after a warm-up, and one validation. Starts
// from initial weights even if the cell has a start.
struct ProbedTimes {
  double step_s = 0;
  double validation_s = 0;
};
[[nodiscard]] ProbedTimes probe_times(Cell cell, const Dataset& data);

}  // namespace rotary::lab
