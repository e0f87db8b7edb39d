// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/train_cell.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "apps/failure.hpp"
#include "lab/data/dataset.hpp"
#include "lab/process/machine.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/begin_with.hpp"
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

// Skips a loss that is not finite. The next step or outcome_of() reports the broken model.
void keep_row(const LogRow& row, Trainer& trainer, RunDirectory& directory) {
  if (!std::isfinite(row.validation_loss)) return;
  trainer.series().validation_losses.push_back(row.validation_loss);
  directory.append(row);
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

Outcome outcome_with(Trainer& trainer, double validation_loss) {
  return {.steps = trainer.counts().step,
          .parameters = trainer.parameter_count(),
          .validation_loss = validation_loss,
          .wall_s = trainer.counts().wall_s,
          .cpu_s = trainer.counts().cpu_s,
          .machines = trainer.machines()};
}

// A broken training gets the loss of a model that knows nothing.
Outcome broken_outcome(Trainer& trainer, const Cell& cell) {
  Outcome outcome = outcome_with(trainer, std::log(static_cast<double>(byte_tokens)));
  outcome.metrics = stability_metrics(trainer.series(), cell.training.spike_window);
  outcome.metrics["diverged"] = 1;
  return outcome;
}

Outcome outcome_of(Trainer& trainer, const Cell& cell, const RunDirectory& directory) {
  const bool broke = trainer.counts().step < cell.training.steps;
  const bool watched = cell.training.spike_window > 0;
  const double loss =
      broke ? std::numeric_limits<double>::quiet_NaN() : trainer.learner().validation_loss();
  if (watched && !std::isfinite(loss)) return broken_outcome(trainer, cell);
  // No training loss shows whether the last update broke the model.
  require_finite(loss, trainer.counts().step);
  Outcome outcome = outcome_with(trainer, loss);
  trainer.learner().examine(outcome, directory);
  if (watched)
    outcome.metrics.merge(stability_metrics(trainer.series(), cell.training.spike_window));
  return outcome;
}

nlohmann::json machine_of(const TrainOptions& options) {
  nlohmann::json machine = this_machine();
  machine["torch"] = TORCH_VERSION;
  machine["threads"] = at::get_num_threads();
  machine["ranks"] = options.ranks == nullptr ? 1 : options.ranks->size();
  return machine;
}

// Gives all ranks rank 0's state.
void share(Trainer& trainer, const Cell& cell, const TrainOptions& options) {
  if (options.ranks == nullptr) return;
  Ranks& ranks = *options.ranks;
  // The broadcast also waits for every rank, so that each rank reports its own problem.
  const std::string differs = difference(ranks.broadcast(config_of(cell)), config_of(cell));
  if (cell.training.batch < ranks.size()) {
    throw cli::Failure(cli::ExitCode::usage,
                       fmt::format("a batch must have a row for each of {} processes, got {} rows",
                                   ranks.size(), cell.training.batch));
  }
  if (!differs.empty()) {
    throw cli::Failure(cli::ExitCode::usage,
                       fmt::format("rank {} must do what rank 0 does: {}", ranks.rank(), differs));
  }
  trainer.share_with(ranks);
}

bool stops_now(Trainer& trainer, const TrainOptions& options) {
  const bool asked = options.stops && options.stops(trainer.counts().step);
  if (options.ranks == nullptr) return asked;
  if (asked) trainer.ask_to_stop();
  return trainer.stop_asked();
}

// Keeps the finished steps if a rank is lost.
double step_of(Trainer& trainer, RunDirectory& directory) {
  try {
    return trainer.step();
  } catch (const cli::Failure& failure) {
    if (failure.exit_code() == cli::ExitCode::io) trainer.save(directory);
    throw;
  }
}

}  // namespace

void set_threads(int threads) { at::set_num_threads(threads); }

std::optional<Outcome> train_cell(const Cell& cell, const Dataset& data, RunDirectory& directory,
                                  const TrainOptions& options) {
  if (!cell.training.cost_lengths.empty()) {
    directory.begin_log(0);
    auto outcome = cost_outcome(cell, data, [&] { return options.stops && options.stops(0); });
    if (!outcome) return outcome;
    outcome->machines = nlohmann::json::array({machine_of(options)});
    directory.finish(*outcome);
    return outcome;
  }
  Trainer trainer(cell, data);
  if (directory.has_checkpoint()) {
    trainer.load(directory.checkpoint());
  } else if (cell.start) {
    begin_with(trainer.learner().model(), start_checkpoint(cell, directory.runs()));
  }
  trainer.record(machine_of(options));
  share(trainer, cell, options);
  Counts& counts = trainer.counts();
  directory.begin_log(counts.log_bytes);
  double saved_at_s = counts.wall_s;
  while (counts.step < cell.training.steps) {
    const double loss = step_of(trainer, directory);
    if (std::isnan(loss)) break;
    const bool last = counts.step == cell.training.steps;
    if (last || counts.step % cell.training.validate_every == 0)
      keep_row(log_row(trainer, cell), trainer, directory);
    const bool stops = stops_now(trainer, options) && !last;
    if (last || stops || counts.wall_s - saved_at_s >= options.checkpoint_every_s) {
      trainer.save(directory);
      saved_at_s = counts.wall_s;
    }
    if (options.on_progress) options.on_progress(progress_of(counts, cell, loss));
    if (stops) return std::nullopt;
  }
  const Outcome outcome = outcome_of(trainer, cell, directory);
  directory.finish(outcome);
  return outcome;
}

std::optional<std::int64_t> follow_cell(const Cell& cell, const Dataset& data,
                                        const TrainOptions& options) {
  Trainer trainer(cell, data);
  share(trainer, cell, options);
  while (trainer.counts().step < cell.training.steps) {
    if (std::isnan(trainer.step())) break;
    const bool last = trainer.counts().step == cell.training.steps;
    if (stops_now(trainer, options) && !last) return std::nullopt;
  }
  return trainer.counts().step;
}

}  // namespace rotary::lab
