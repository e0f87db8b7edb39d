// SPDX-License-Identifier: Apache-2.0
// Trains one cell. Callers need no torch headers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/ranks.hpp"

namespace rotary::lab {

struct Progress {
  std::int64_t step = 0;
  std::int64_t steps = 0;
  double train_loss = 0;  // of this step
  double tokens_per_s = 0;
  double seconds_left = 0;
};

struct TrainOptions {
  double checkpoint_every_s = 60;
  // Called after each step; may be empty.
  std::function<void(const Progress&)> on_progress = {};
  // Called after each step. If it returns true, the training saves a checkpoint and stops; ranks
  // stop together after the next step.
  std::function<bool(std::int64_t step)> stops = {};
  // Joined ranks that share each batch; null if the process is alone.
  Ranks* ranks = nullptr;
};

void set_threads(int threads);

// Uses "cpu" or "cuda" from now on; fails if torch lacks the device.
void use_device(const std::string& name);

// Continues from a checkpoint if one exists. Returns nothing if options.stops ended the training.
// Fails if the loss is not finite, unless spike_window is set. Saves and fails if a rank is lost.
[[nodiscard]] std::optional<Outcome> train_cell(const Cell& cell, const Dataset& data,
                                                RunDirectory& directory,
                                                const TrainOptions& options);

// Does the work of a rank other than 0. Returns the number of steps, or nothing if stopped.
[[nodiscard]] std::optional<std::int64_t> follow_cell(const Cell& cell, const Dataset& data,
                                                      const TrainOptions& options);

}  // namespace rotary::lab
