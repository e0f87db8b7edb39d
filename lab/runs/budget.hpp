// SPDX-License-Identifier: Apache-2.0
// A budget makes all trainings of a run shorter by one factor, so that they stay comparable.
// RUNS/EXPERIMENT-PRESET/budget.json keeps the factor for runs that continue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

struct Budget {
  double seconds = 0;  // of processor time, all cells together
  double scale = 1;    // of steps
};

// "90s", "10m", "1.5h". Fails on anything else.
[[nodiscard]] double parse_duration(const std::string& text);

// The cost of a cell, in seconds of processor time.
struct CellTime {
  double steps_s = 0;  // proportional to the number of steps
  double fixed_s = 0;  // validations, whose number is fixed, and the evaluation of the finished
                       // model
};

// The scale at which all cells take `seconds`, at most 1. Fails if a cell would train fewer than
// least_scaled_steps, and says which budget is enough.
inline constexpr std::int64_t least_scaled_steps = 20;
[[nodiscard]] Budget make_budget(double seconds, const std::vector<Cell>& cells,
                                 const std::vector<CellTime>& times);

// Scales steps, warmup and the distance of validations.
void scale_training(TrainingConfig& training, double scale);

// The budget in the folder of a cell's experiment; absent if there is none.
[[nodiscard]] std::optional<Budget> read_budget(const std::string& runs, const Cell& cell);

// Whether cells of its experiment began without one.
[[nodiscard]] bool began_without_budget(const std::string& runs, const Cell& cell);

// Writes it to the folder of every cell's experiment that has none.
void write_budget(const std::string& runs, const std::vector<Cell>& cells, const Budget& budget);

}  // namespace rotary::lab
