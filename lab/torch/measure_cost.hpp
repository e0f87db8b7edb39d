// SPDX-License-Identifier: Apache-2.0
// The cost of training steps, in processor time.
#pragma once

#include <functional>
#include <optional>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// A cell with cost_lengths: metrics "ms@512", and "overhead@512" over the same model without
// positions, with which it takes turns: whatever else the machine does meets both. A time is that
// of the fastest step after a first one. A step has as many tokens as one of the cell, rounded down
// to whole sequences. Its validation loss is that after the steps at the first length. Absent:
// `stops`, asked after each length, said so.
[[nodiscard]] std::optional<Outcome> cost_outcome(const Cell& cell, const Dataset& data,
                                                  const std::function<bool()>& stops);

// Processor time of one step and of one validation of a cell, in seconds: the middle of a few steps
// after a first one that is not counted. Begins with weights of its own.
struct ProbedTimes {
  double step_s = 0;
  double validation_s = 0;
};
[[nodiscard]] ProbedTimes probe_times(Cell cell, const Dataset& data);

}  // namespace rotary::lab
