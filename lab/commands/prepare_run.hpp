// SPDX-License-Identifier: Apache-2.0
// The work of run and plan before training: which cells, on which data, with how many steps, and
// whether that is more than this machine can do.
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
  std::vector<Cell> cells;              // in an order in which they can be run
  std::map<std::string, Dataset> data;  // by the name that cells have
  std::vector<std::string> remarks;     // for people: differences from the presets
};

// is_estimated: data may be missing; cells of it then have no data hash, and `data` has no such
// name.
enum class MissingData { fails, is_estimated };

[[nodiscard]] PreparedRun select_cells(const RunArguments& arguments, MissingData missing);

// Scales cells by --budget, or by the budget of the run that they continue. Fails if they need more
// than this machine has, or start from cells that are neither finished nor among them.
void prepare_cells(PreparedRun& run, const RunArguments& arguments);

// The times of each cell. Times a step of one of its seeds or, if that would take long, of a
// smaller model of the same width.
[[nodiscard]] std::vector<CellTime> estimate_times(const PreparedRun& run);

}  // namespace rotary::lab
