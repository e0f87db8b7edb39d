// SPDX-License-Identifier: Apache-2.0
// Prepares run and plan: selects cells and data, scales the steps, estimates times, and checks that
// this machine can train the cells.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/commands/commands.hpp"
#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/runs/budget.hpp"

namespace rotary::lab {

struct PreparedRun {
  std::vector<Experiment> experiments;
  std::vector<Cell> cells;              // each after the cells that it starts from
  std::map<std::string, Dataset> data;  // by the data's name in cells
  std::vector<std::string> remarks;     // differences from the presets, for the user
};

// is_estimated: data may be missing. Cells on missing data have no data hash, and PreparedRun::data
// lacks these data.
enum class MissingData { fails, is_estimated };

[[nodiscard]] PreparedRun select_cells(const RunArguments& arguments, MissingData missing);

// Scales cells by --budget, or by the budget of a continued run. Fails if cells exceed the machine,
// or start from cells that are neither finished nor in the run.
void prepare_cells(PreparedRun& run, const RunArguments& arguments);

// Each cell's time, from a timed step of the arm's first cell. If that step takes long, a step of a
// smaller model with the same width is timed.
[[nodiscard]] std::vector<CellTime> estimate_times(const PreparedRun& run);

}  // namespace rotary::lab
