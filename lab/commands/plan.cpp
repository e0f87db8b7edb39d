// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/commands/capacity.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/prepare_run.hpp"
#include "lab/commands/progress.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

// "95 s", "12 min", "3.4 h"
std::string rounded_duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

struct PlannedArm {
  const Cell* cell = nullptr;
  int seeds = 0;
  double seconds = 0;
};

std::vector<PlannedArm> arms_of(const PreparedRun& run, const std::vector<CellTime>& times) {
  std::vector<PlannedArm> arms;
  for (std::size_t n = 0; n < run.cells.size(); ++n) {
    const Cell& cell = run.cells[n];
    auto arm = std::ranges::find_if(arms, [&](const PlannedArm& each) {
      return each.cell->experiment == cell.experiment && each.cell->name == cell.name;
    });
    if (arm == arms.end()) arm = arms.insert(arm, PlannedArm{.cell = &cell});
    arm->seeds += 1;
    arm->seconds += times[n].steps_s + times[n].fixed_s;
  }
  return arms;
}

}  // namespace

int print_plan(const RunArguments& arguments) {
  set_threads(arguments.threads);
  use_device(arguments.device);
  const PreparedRun run = select_cells(arguments, MissingData::is_estimated);
  const std::vector<CellTime> times = estimate_times(run);
  for (const std::string& remark : run.remarks) print_note("{}\n", remark);
  double seconds = 0;
  double bytes = 0;
  print_answer("{:<24} {:<20} {:>5} {:>7} {:>12} {:>10}  data\n", "experiment", "encoding", "seeds",
               "steps", "step tokens", "processor");
  for (const PlannedArm& arm : arms_of(run, times)) {
    const Cell& cell = *arm.cell;
    seconds += arm.seconds;
    bytes = std::max(bytes, bytes_of_training(cell));
    print_answer("{:<24} {:<20} {:>5} {:>7} {:>12} {:>10}  {}{}\n", cell.experiment, cell.name,
                 arm.seeds, cell.training.steps, cell.training.batch * cell.model.tokens,
                 rounded_duration(arm.seconds), cell.data,
                 run.data.contains(cell.data) ? "" : " (not here: estimated without it)");
  }
  const Capacity machine = this_capacity();
  print_answer(
      "{} cells: about {} of processor time; {} with {} processes on the {} processors of "
      "this machine; {:.1f} GB of memory for the largest\n",
      run.cells.size(), rounded_duration(seconds), rounded_duration(seconds / machine.processors),
      machine.processors, machine.processors, bytes / 1e9);
  return 0;
}

}  // namespace rotary::lab
