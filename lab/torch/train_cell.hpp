// SPDX-License-Identifier: Apache-2.0
// Training one cell: all that the rest of the lab knows of torch.
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
  // After each step; may be empty.
  std::function<void(const Progress&)> on_progress = {};
  // Asked after each step: true saves a checkpoint and returns. Where ranks share the cell, all do
  // after the next one.
  std::function<bool(std::int64_t step)> stops = {};
  // Joined; they share each batch. Null: this process is alone.
  Ranks* ranks = nullptr;
};

void set_threads(int threads);

// "cpu" or "cuda", for all that follows. Fails where torch has no such device.
void use_device(const std::string& name);

// Goes on from the checkpoint where there is one. Absent: stopped before the end, with a
// checkpoint. Fails where the loss is not finite; where another rank is lost, with a checkpoint.
[[nodiscard]] std::optional<Outcome> train_cell(const Cell& cell, const Dataset& data,
                                                RunDirectory& directory,
                                                const TrainOptions& options);

// The part of the ranks other than rank 0 while it trains the cell. Absent: stopped.
[[nodiscard]] std::optional<std::int64_t> follow_cell(const Cell& cell, const Dataset& data,
                                                      const TrainOptions& options);

}  // namespace rotary::lab
