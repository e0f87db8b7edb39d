// SPDX-License-Identifier: Apache-2.0
// Trainer: a model, its optimizer and counters. A checkpoint holds their state.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
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
  std::int64_t logged_step = 0;  // of the log's last line
  double logged_wall_s = 0;
  double loss_sum = 0;
  std::int64_t log_bytes = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Counts, step, wall_s, cpu_s, logged_step, logged_wall_s,
                                   loss_sum, log_bytes)

// Processor seconds of all the process's threads.
[[nodiscard]] double cpu_seconds();

// Fails with check_failed if the loss is not finite. The failure ends a cell but not the run.
void require_finite(double loss, std::int64_t steps);

class Trainer {
 public:
  // The data must outlive this.
  Trainer(const Cell& cell, const Dataset& data);

  // Returns the batch's loss before the step. Fails if the loss is not finite. With spike_window, a
  // loss or gradient that is not finite instead gives NaN and leaves the model unchanged.
  double step();
  // Records steps only with spike_window. The caller adds validation losses.
  [[nodiscard]] StepSeries& series() noexcept { return series_; }

  // From now on ranks share each batch's rows, starting with rank 0's state. `ranks` must outlive
  // this.
  void share_with(Ranks& ranks);
  // With ranks, the next step tells the other ranks. stop_asked() is true after that step.
  void ask_to_stop() noexcept { asks_to_stop_ = true; }
  [[nodiscard]] bool stop_asked() const noexcept { return stop_asked_; }

  // Records a machine unless it equals the last recorded machine.
  void record(const nlohmann::json& machine);
  [[nodiscard]] const nlohmann::json& machines() const noexcept { return machines_; }

  [[nodiscard]] Learner& learner() noexcept { return *learner_; }
  [[nodiscard]] Counts& counts() noexcept { return counts_; }
  [[nodiscard]] std::int64_t parameter_count() const;

  // Writes the file completely or not at all.
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
  Ranks* ranks_ = nullptr;         // null: the process is alone
  double cpu_of_last_step_s_ = 0;  // on this rank
  bool asks_to_stop_ = false;
  bool stop_asked_ = false;
};

}  // namespace rotary::lab
