// SPDX-License-Identifier: Apache-2.0
// Learner: a model and its task, for the training loop.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// The sum of losses, in nats, over `count` targets.
struct LossSum {
  at::Tensor sum;  // one number, for backward()
  std::int64_t count = 0;
};

// One process's rows of a shared batch, which is cut into `parts` almost equal parts.
struct Share {
  std::int64_t part = 0;
  std::int64_t parts = 1;

  [[nodiscard]] std::int64_t begin(std::int64_t rows) const { return rows * part / parts; }
  [[nodiscard]] std::int64_t end(std::int64_t rows) const { return rows * (part + 1) / parts; }
};

class Learner {
 public:
  Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  [[nodiscard]] virtual torch::nn::Module& model() = 0;

  // The loss of one share of a step's batch. The batch depends only on cell and step.
  [[nodiscard]] virtual LossSum training_loss(std::int64_t step, const Share& share) = 0;

  // The mean loss over the validation data, which are the same at each call.
  [[nodiscard]] virtual double validation_loss() = 0;

  // Evaluates a finished model: fills the outcome's lengths, metrics and pairs, and writes readable
  // results to files beside the log.
  virtual void examine(Outcome& outcome, const RunDirectory& directory) = 0;
};

// The data must outlive the learner. Fails if the data do not suit the task.
[[nodiscard]] std::unique_ptr<Learner> make_learner(const Cell& cell, const Dataset& data);

}  // namespace rotary::lab
