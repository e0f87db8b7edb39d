// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/measure_cost.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lab/torch/trainer.hpp"

namespace rotary::lab {
namespace {

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

// Milliseconds of the next step.
double step_ms(Trainer& trainer) {
  const double before_s = trainer.counts().cpu_s;
  (void)trainer.step();
  return 1e3 * (trainer.counts().cpu_s - before_s);
}

CostRow measure_length(std::vector<Cell> cells, const Dataset& data, std::int64_t tokens,
                       std::int64_t rounds) {
  std::vector<Trainer> trainers;
  for (Cell& cell : cells) {
    const std::int64_t tokens_of_step = cell.training.batch * cell.model.tokens;
    cell.training.batch = std::max<std::int64_t>(1, tokens_of_step / tokens);
    cell.model.tokens = tokens;
    trainers.emplace_back(cell, data);
  }
  std::vector<std::vector<double>> times(cells.size());
  for (std::int64_t round = 0; round <= rounds; ++round) {
    for (std::size_t n = 0; n < cells.size(); ++n) {
      const double ms = step_ms(trainers[n]);
      if (round > 0) times[n].push_back(ms);
    }
  }
  CostRow row{.tokens = tokens, .cpu_ms = {}};
  for (std::vector<double>& of_cell : times) row.cpu_ms.push_back(median(std::move(of_cell)));
  return row;
}

}  // namespace

std::vector<CostRow> measure_cost(const std::vector<Cell>& cells, const Dataset& data,
                                  const CostOptions& options) {
  std::vector<CostRow> rows;
  for (const std::int64_t tokens : options.lengths)
    rows.push_back(measure_length(cells, data, tokens, options.rounds));
  return rows;
}

}  // namespace rotary::lab
