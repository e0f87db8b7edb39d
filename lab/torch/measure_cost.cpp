// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/measure_cost.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "lab/torch/trainer.hpp"

namespace rotary::lab {
namespace {

constexpr std::int64_t probed_steps = 3;

// Runs the next step and returns its processor seconds.
double step_s(Trainer& trainer) {
  const double before_s = trainer.counts().cpu_s;
  (void)trainer.step();
  return trainer.counts().cpu_s - before_s;
}

Cell at_length(Cell cell, std::int64_t tokens) {
  const std::int64_t tokens_of_step = cell.training.batch * cell.model.tokens;
  cell.training.batch = std::max<std::int64_t>(1, tokens_of_step / tokens);
  cell.model.tokens = tokens;
  return cell;
}

// Each cell's fastest step in milliseconds.
std::vector<double> fastest_steps(const std::vector<Cell>& cells, const Dataset& data,
                                  std::int64_t tokens) {
  std::vector<Trainer> trainers;
  for (const Cell& cell : cells) trainers.emplace_back(at_length(cell, tokens), data);
  for (Trainer& trainer : trainers) (void)trainer.step();
  std::vector<double> fastest(cells.size(), std::numeric_limits<double>::infinity());
  for (std::int64_t round = 0; round < cells[0].training.steps; ++round) {
    for (std::size_t n = 0; n < cells.size(); ++n)
      fastest[n] = std::min(fastest[n], 1e3 * step_s(trainers[n]));
  }
  return fastest;
}

bool has_positions(const Cell& cell) {
  return !std::holds_alternative<NoEncoding>(cell.encoding.kind);
}

// Processor seconds of cost_outcome().
double cost_s(const Cell& cell, const ProbedTimes& probed) {
  const double flops = flops_of_step(probed_cell(cell));
  const auto steps = static_cast<double>(cell.training.steps);
  double steps_at_first = steps;
  for (const std::int64_t tokens : cell.training.cost_lengths) {
    const double models = has_positions(cell) ? 2 : 1;
    steps_at_first += models * (1 + steps) * flops_of_step(at_length(cell, tokens)) / flops;
  }
  return steps_at_first * probed.step_s + probed.validation_s;
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

}  // namespace

std::optional<Outcome> cost_outcome(const Cell& cell, const Dataset& data,
                                    const std::function<bool()>& stops) {
  std::vector<Cell> cells = {cell};
  if (has_positions(cell)) cells.push_back(without_positions(cell));
  const double begin_s = cpu_seconds();
  Trainer trainer(probed_cell(cell), data);
  for (std::int64_t step = 0; step < cell.training.steps; ++step) (void)trainer.step();
  Outcome outcome{.steps = cell.training.steps,
                  .parameters = trainer.parameter_count(),
                  .validation_loss = trainer.learner().validation_loss()};
  require_finite(outcome.validation_loss, outcome.steps);
  for (const std::int64_t tokens : cell.training.cost_lengths) {
    if (stops && stops()) return std::nullopt;
    const std::vector<double> fastest = fastest_steps(cells, data, tokens);
    outcome.metrics[fmt::format("ms@{}", tokens)] = fastest.front();
    outcome.metrics[fmt::format("overhead@{}", tokens)] = fastest.front() / fastest.back() - 1;
  }
  outcome.cpu_s = cpu_seconds() - begin_s;
  outcome.wall_s = outcome.cpu_s;
  return outcome;
}

ProbedTimes probe_times(Cell cell, const Dataset& data) {
  cell.start.reset();
  Trainer trainer(cell, data);
  std::vector<double> steps;
  for (std::int64_t step = 0; step <= probed_steps; ++step) steps.push_back(step_s(trainer));
  steps.erase(steps.begin());
  const double begin_s = cpu_seconds();
  (void)trainer.learner().validation_loss();
  return {.step_s = median(std::move(steps)), .validation_s = cpu_seconds() - begin_s};
}

Cell probed_cell(const Cell& cell) {
  const std::vector<std::int64_t>& lengths = cell.training.cost_lengths;
  return lengths.empty() ? cell : at_length(cell, lengths.front());
}

Cell without_positions(Cell cell) {
  cell.encoding_settings = encoding_settings("none");
  cell.encoding = parse_encoding(cell.encoding_settings, cell.model.head_dim());
  return cell;
}

CellTime time_of(const Cell& cell, const ProbedTimes& probed) {
  const TrainingConfig& training = cell.training;
  if (!training.cost_lengths.empty()) return {.steps_s = 0, .fixed_s = cost_s(cell, probed)};
  // Two more validations: for the log's last row and for the finished model.
  const auto validations = static_cast<double>(training.steps / training.validate_every + 2);
  return {.steps_s = static_cast<double>(training.steps) * probed.step_s,
          .fixed_s = (validations + validations_of_lengths(cell)) * probed.validation_s};
}

}  // namespace rotary::lab
