// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/budget.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// Measures a cell with cost_lengths. Its metrics for length 512 are "ms@512", the fastest step
// after a warm-up, and "overhead@512", relative to the same model without positions. The two models
// take turns, so other load slows both. A step has as many tokens as a step of the cell, rounded
// down to entire sequences. The validation loss is that of a training at the first length. Calls
// `stops` before each length; returns nothing if `stops` returned true.
[[nodiscard]] std::optional<Outcome> cost_outcome(const Cell& cell, const Dataset& data,
                                                  const std::function<bool()>& stops);

// Processor seconds of a step (the median of a few, after a warm-up) and of one validation.
struct ProbedTimes {
  double step_s = 0;
  double validation_s = 0;
};
// Starts from initial weights even if the cell has a start.
[[nodiscard]] ProbedTimes probe_times(Cell cell, const Dataset& data);

// The cell whose step and validation are timed: with cost_lengths, the training at the first
// length.
[[nodiscard]] Cell probed_cell(const Cell& cell);

[[nodiscard]] Cell without_positions(Cell cell);

// A cell's time, from the times of its probed_cell().
[[nodiscard]] CellTime time_of(const Cell& cell, const ProbedTimes& probed);

}  // namespace rotary::lab
