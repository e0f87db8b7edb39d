// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a training step with each encoding, for growing sequences and a constant
// number of tokens in a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

struct CostOptions {
  std::vector<std::int64_t> lengths;  // in tokens
  std::int64_t rounds = 0;            // steps of each encoding that count, >= 1
};

// One length: the processor time of each step, [cell][round].
struct CostRow {
  std::int64_t tokens = 0;
  std::vector<std::vector<double>> step_ms;

  // The fastest of a cell's steps: what else the machine does only adds to one.
  [[nodiscard]] double cpu_ms(std::size_t cell) const;
  // How much more than `base`, in parts of it.
  [[nodiscard]] double overhead(std::size_t cell, std::size_t base) const;
};

// Encodings take turns, so that what else the machine does meets all of them; the first step of
// each is not counted. A step has as many tokens as one of the cell, rounded down to whole
// sequences.
[[nodiscard]] std::vector<CostRow> measure_cost(const std::vector<Cell>& cells, const Dataset& data,
                                                const CostOptions& options);

// A cell with cost_lengths: metrics "ms@512", and "overhead@512" over the same model without
// positions, with which it takes turns. Its validation loss is that after the steps at the first
// length. Absent: `stops`, asked after each length, said so.
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
