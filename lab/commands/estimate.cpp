// SPDX-License-Identifier: Apache-2.0
// Estimates how long cells take by timing a few steps.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/commands/prepare_run.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/torch/measure_cost.hpp"

namespace rotary::lab {
namespace {

// Some seconds of work for one processor. If a step has more operations, a smaller model's step is
// timed instead.
constexpr double longest_probe_flops = 2e11;

// A one-layer causal language model of the cell's width, with one sequence per step. It takes about
// the same time per operation as the cell.
Cell small_model(Cell cell) {
  cell.model.task = Task::causal_lm;
  cell.model.layers = 1;
  cell.model.attention = AttentionKind::softmax;
  cell.training.batch = 1;
  cell.training.validation_rows = 1;
  cell.training.evaluate_lengths = {1};
  cell.training.evaluate_unit = 0;
  return without_positions(std::move(cell));
}

// A validation has validation_rows sequences. Each costs a third of a training sequence, as it has
// no backward pass.
ProbedTimes from_small_model(const Cell& cell) {
  static const Dataset text = split({.name = "any"}, std::string(1 << 20, 'a'));
  const Cell small = small_model(cell);
  const double seconds_of_flop = probe_times(small, text).step_s / flops_of_step(small);
  const double step_s = flops_of_step(cell) * seconds_of_flop;
  const double rows =
      static_cast<double>(cell.training.validation_rows) / static_cast<double>(cell.training.batch);
  return {.step_s = step_s, .validation_s = step_s * rows / 3};
}

ProbedTimes probe(const Cell& cell, const PreparedRun& run) {
  const auto data = run.data.find(cell.data);
  if (data == run.data.end() || flops_of_step(cell) > longest_probe_flops)
    return from_small_model(cell);
  return probe_times(cell, data->second);
}

}  // namespace

std::vector<CellTime> estimate_times(const PreparedRun& run) {
  std::map<std::string, ProbedTimes> of_arm;
  std::vector<CellTime> times;
  for (const Cell& cell : run.cells) {
    const std::string arm = cell.experiment + "/" + cell.name;
    auto found = of_arm.find(arm);
    if (found == of_arm.end()) found = of_arm.emplace(arm, probe(probed_cell(cell), run)).first;
    times.push_back(time_of(cell, found->second));
  }
  return times;
}

}  // namespace rotary::lab
