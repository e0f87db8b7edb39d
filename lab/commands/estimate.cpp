// SPDX-License-Identifier: Apache-2.0
// Estimates how long cells take by timing a few steps.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
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
  cell.encoding_settings = encoding_settings("none");
  cell.encoding = parse_encoding(cell.encoding_settings, cell.model.head_dim());
  return cell;
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

// The cost of the final validations, at all lengths and rules, in units of an ordinary validation.
// Attention scores are a quarter of the work at some hundred tokens, and grow with the length.
double validations_of_lengths(const Cell& cell) {
  const auto* rotary = std::get_if<RotaryEncoding>(&cell.encoding.kind);
  const bool stretches =
      rotary != nullptr && std::holds_alternative<NoScaling>(rotary->spec.scaling);
  const auto rules = stretches ? static_cast<double>(cell.training.rescale.size()) : 0.0;
  double validations = 0;
  for (const std::int64_t multiple : cell.training.evaluate_lengths) {
    const double once = 1 + 0.25 * static_cast<double>(multiple - 1);
    validations += multiple == 1 ? once : once * (1 + rules);
  }
  return validations;
}

CellTime time_of(const Cell& cell, const ProbedTimes& probed) {
  const TrainingConfig& training = cell.training;
  const auto steps = static_cast<double>(training.steps);
  if (!training.cost_lengths.empty()) {
    // Two models, with and without positions, each run `steps` steps after one warm-up step.
    double step_s = 0;
    for (const std::int64_t tokens : training.cost_lengths) {
      Cell longer = cell;
      longer.training.batch =
          std::max<std::int64_t>(1, training.batch * cell.model.tokens / tokens);
      longer.model.tokens = tokens;
      step_s += 2 * probed.step_s * flops_of_step(longer) / flops_of_step(cell);
    }
    return {.steps_s = 0, .fixed_s = (steps + 1) * step_s};
  }
  // Two more validations: for the log's last row and for the finished model.
  const auto validations = static_cast<double>(training.steps / training.validate_every + 2);
  return {.steps_s = steps * probed.step_s,
          .fixed_s = (validations + validations_of_lengths(cell)) * probed.validation_s};
}

}  // namespace

std::vector<CellTime> estimate_times(const PreparedRun& run) {
  std::map<std::string, ProbedTimes> of_arm;
  std::vector<CellTime> times;
  for (const Cell& cell : run.cells) {
    const std::string arm = cell.experiment + "/" + cell.name;
    auto found = of_arm.find(arm);
    if (found == of_arm.end()) found = of_arm.emplace(arm, probe(cell, run)).first;
    times.push_back(time_of(cell, found->second));
  }
  return times;
}

}  // namespace rotary::lab
