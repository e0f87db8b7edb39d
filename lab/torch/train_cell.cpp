// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/train_cell.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <optional>

#include "lab/data/dataset.hpp"
#include "lab/torch/measure_cost.hpp"
#include "lab/torch/trainer.hpp"

namespace rotary::lab {
namespace {

LogRow log_row(Trainer& trainer, const Cell& cell) {
  Counts& counts = trainer.counts();
  const std::int64_t tokens_of_step = cell.training.batch * cell.model.tokens;
  const auto steps = static_cast<double>(counts.step - counts.logged_step);
  LogRow row{.step = counts.step,
             .tokens = counts.step * tokens_of_step,
             .train_loss = counts.loss_sum / steps,
             .validation_loss = trainer.learner().validation_loss(),
             .learning_rate = learning_rate_at(cell.training, counts.step - 1),
             .wall_s = counts.wall_s,
             .cpu_s = counts.cpu_s,
             .tokens_per_s = steps * static_cast<double>(tokens_of_step) /
                             (counts.wall_s - counts.logged_wall_s)};
  counts.logged_step = counts.step;
  counts.logged_wall_s = counts.wall_s;
  counts.loss_sum = 0;
  return row;
}

Progress progress_of(const Counts& counts, const Cell& cell, double loss) {
  const double seconds_of_step = counts.wall_s / static_cast<double>(counts.step);
  return {.step = counts.step,
          .steps = cell.training.steps,
          .train_loss = loss,
          .tokens_per_s =
              static_cast<double>(cell.training.batch * cell.model.tokens) / seconds_of_step,
          .seconds_left = seconds_of_step * static_cast<double>(cell.training.steps - counts.step)};
}

Outcome outcome_of(Trainer& trainer, const RunDirectory& directory) {
  Outcome outcome{.steps = trainer.counts().step,
                  .parameters = trainer.parameter_count(),
                  .validation_loss = trainer.learner().validation_loss(),
                  .wall_s = trainer.counts().wall_s,
                  .cpu_s = trainer.counts().cpu_s};
  trainer.learner().examine(outcome, directory);
  return outcome;
}

}  // namespace

void set_threads(int threads) { at::set_num_threads(threads); }

std::optional<Outcome> train_cell(const Cell& cell, const Dataset& data, RunDirectory& directory,
                                  const TrainOptions& options) {
  if (!cell.training.cost_lengths.empty()) {
    directory.begin_log(0);
    const auto outcome =
        cost_outcome(cell, data, [&] { return options.stops && options.stops(0); });
    if (outcome) directory.finish(*outcome);
    return outcome;
  }
  Trainer trainer(cell, data);
  if (directory.has_checkpoint()) trainer.load(directory.checkpoint());
  Counts& counts = trainer.counts();
  directory.begin_log(counts.log_bytes);
  double saved_at_s = counts.wall_s;
  while (counts.step < cell.training.steps) {
    const double loss = trainer.step();
    const bool last = counts.step == cell.training.steps;
    if (last || counts.step % cell.training.validate_every == 0)
      directory.append(log_row(trainer, cell));
    const bool stops = !last && options.stops && options.stops(counts.step);
    if (last || stops || counts.wall_s - saved_at_s >= options.checkpoint_every_s) {
      trainer.save(directory);
      saved_at_s = counts.wall_s;
    }
    if (options.on_progress) options.on_progress(progress_of(counts, cell, loss));
    if (stops) return std::nullopt;
  }
  const Outcome outcome = outcome_of(trainer, directory);
  directory.finish(outcome);
  return outcome;
}

}  // namespace rotary::lab
