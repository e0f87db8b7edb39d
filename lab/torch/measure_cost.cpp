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

Cell without_positions(Cell cell) {
  cell.encoding_settings = encoding_settings("none");
  cell.encoding = parse_encoding(cell.encoding_settings, cell.model.head_dim());
  return cell;
}

}  // namespace

std::optional<Outcome> cost_outcome(const Cell& cell, const Dataset& data,
                                    const std::function<bool()>& stops) {
  std::vector<Cell> cells = {cell};
  if (!std::holds_alternative<NoEncoding>(cell.encoding.kind))
    cells.push_back(without_positions(cell));
  const std::vector<std::int64_t>& lengths = cell.training.cost_lengths;
  const double begin_s = cpu_seconds();
  Trainer trainer(at_length(cell, lengths.front()), data);
  for (std::int64_t step = 0; step < cell.training.steps; ++step) (void)trainer.step();
  Outcome outcome{.steps = cell.training.steps,
                  .parameters = trainer.parameter_count(),
                  .validation_loss = trainer.learner().validation_loss()};
  require_finite(outcome.validation_loss, outcome.steps);
  for (const std::int64_t tokens : lengths) {
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

}  // namespace rotary::lab
