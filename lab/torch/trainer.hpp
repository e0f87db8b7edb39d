// SPDX-License-Identifier: Apache-2.0
// Trainer: model, optimizer and what has been counted so far; all of it goes into a checkpoint.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/runs/step_series.hpp"
#include "lab/torch/learner.hpp"
#include "lab/torch/shared_step.hpp"

namespace rotary::lab {

struct Counts {
  std::int64_t step = 0;
  double wall_s = 0, cpu_s = 0;
  // Since the last line of the log.
  std::int64_t logged_step = 0;
  double logged_wall_s = 0;
  double loss_sum = 0;
  std::int64_t log_bytes = 0;
};

// Fails with check_failed, which ends a cell and no run, where it is not.
void require_finite(double loss, std::int64_t steps);

class Trainer {
 public:
  // The data must outlive it.
  Trainer(const Cell& cell, const Dataset& data);

  // The loss of the batch before the step. Where it is no number: fails, or, of a training that is
  // watched (TrainingConfig::spike_window), says so, and the model is as it was.
  double step();
  // Has steps of a training that is watched alone; the caller adds validation losses.
  [[nodiscard]] StepSeries& series() noexcept { return series_; }

  // From here on a step takes the rows of all ranks, which all begin with rank 0's state. The ranks
  // must outlive it.
  void share_with(Ranks& ranks);
  // Between ranks only: those of the next step hear of it, and stop_asked() says so after it.
  void ask_to_stop() noexcept { asks_to_stop_ = true; }
  [[nodiscard]] bool stop_asked() const noexcept { return stop_asked_; }

  // Records this process's machine if it differs from that of the steps before.
  void record(const nlohmann::json& machine);
  [[nodiscard]] const nlohmann::json& machines() const noexcept { return machines_; }

  [[nodiscard]] Learner& learner() noexcept { return *learner_; }
  [[nodiscard]] Counts& counts() noexcept { return counts_; }
  [[nodiscard]] std::int64_t parameter_count() const;

  // Whole or not at all.
  void save(const RunDirectory& directory);
  void load(const std::string& path);

 private:
  double backward();
  [[nodiscard]] bool is_watched() const noexcept { return training_.spike_window > 0; }
  void write_state(torch::serialize::OutputArchive& archive);
  void read_state(torch::serialize::InputArchive& archive);

  TrainingConfig training_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  Counts counts_;
  StepSeries series_;
  nlohmann::json machines_ = nlohmann::json::array();
  std::optional<SharedStep> shared_;
  double cpu_of_last_step_s_ = 0;  // of this rank
  bool asks_to_stop_ = false;
  bool stop_asked_ = false;
};

}  // namespace rotary::lab
