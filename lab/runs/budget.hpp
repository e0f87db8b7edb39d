// SPDX-License-Identifier: Apache-2.0
// A budget shortens all trainings of a run by one factor, so that they stay comparable.
// RUNS/EXPERIMENT-PRESET/budget.json keeps it for continued runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

struct Budget {
  double seconds = 0;  // processor time of all cells
  double scale = 1;    // factor on steps
};

// Reads "90s", "10m" or "1.5h".
[[nodiscard]] double parse_duration(const std::string& text);

// A cell's cost in processor seconds.
struct CellTime {
  double steps_s = 0;  // proportional to the number of steps
  double fixed_s = 0;  // all validations, and evaluating the finished model
};

// The scale, at most 1, at which all cells take `seconds`. If a cell would train fewer than
// least_scaled_steps, fails and names a sufficient budget.
inline constexpr std::int64_t least_scaled_steps = 20;
[[nodiscard]] Budget make_budget(double seconds, const std::vector<Cell>& cells,
                                 const std::vector<CellTime>& times);

// Scales steps, warmup and the validation interval.
void scale_training(TrainingConfig& training, double scale);

// The budget in the cell's experiment folder, if any.
[[nodiscard]] std::optional<Budget> read_budget(const std::string& runs, const Cell& cell);

// Whether cells of this cell's experiment started without a budget.
[[nodiscard]] bool began_without_budget(const std::string& runs, const Cell& cell);

// Writes the budget to the cells' experiment folders that have none.
void write_budget(const std::string& runs, const std::vector<Cell>& cells, const Budget& budget);

}  // namespace rotary::lab
