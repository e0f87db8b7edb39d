// SPDX-License-Identifier: Apache-2.0
// Trainer: model, optimizer and what has been counted so far; all of it goes into a checkpoint.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/learner.hpp"

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

class Trainer {
 public:
  // The data must outlive it.
  Trainer(const Cell& cell, const Dataset& data);

  // The loss of the batch before the step.
  double step();

  [[nodiscard]] Learner& learner() noexcept { return *learner_; }
  [[nodiscard]] Counts& counts() noexcept { return counts_; }
  [[nodiscard]] std::int64_t parameter_count() const;

  // Whole or not at all.
  void save(const RunDirectory& directory);
  void load(const std::string& path);

 private:
  TrainingConfig training_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  Counts counts_;
};

}  // namespace rotary::lab
