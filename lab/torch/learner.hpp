// SPDX-License-Identifier: Apache-2.0
// Learner: a model and what it is trained to do, as the training loop sees them.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// The sum of the losses, in nats, over `count` targets.
struct LossSum {
  at::Tensor sum;  // of one number, for backward()
  std::int64_t count = 0;
};

// Which rows of a batch, where several processes share it: part `part` of `parts` equal ones.
struct Share {
  std::int64_t part = 0;
  std::int64_t parts = 1;
};

class Learner {
 public:
  Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  [[nodiscard]] virtual torch::nn::Module& model() = 0;

  // The loss of a share of a step's batch, which is a function of the cell and the step.
  [[nodiscard]] virtual LossSum training_loss(std::int64_t step, const Share& share) = 0;

  // The mean over questions that training does not see, the same ones at each call.
  [[nodiscard]] virtual double validation_loss() = 0;

  // Evaluates a finished model further: writes lengths and metrics of the outcome, and files beside
  // the log if there is something to read.
  virtual void examine(Outcome& outcome, const RunDirectory& directory) = 0;
};

// The data must outlive it. Fails where the data do not have what the task needs.
[[nodiscard]] std::unique_ptr<Learner> make_learner(const Cell& cell, const Dataset& data);

// The learner of causal_lm and masked_lm: a transformer on the bytes of a text.

[[nodiscard]] std::unique_ptr<Learner> make_language_model(const Cell& cell, const Dataset& data);

// The learner of copy, reverse and addition: a decoder that answers short questions in training,
// and is asked for 1, 1.5 and 2 times as many symbols. Metrics of length generalisation, of 1.5x:
//   loss@1.5x      nats for each byte of the answers
//   accuracy@1.5x  bytes of the answers that are the likeliest one after what comes before them
//   exact@1.5x     questions whose answer is wholly right; as all before each byte is right then,
//                  these are the answers that taking the likeliest byte generates

[[nodiscard]] std::unique_ptr<Learner> make_sequences(const Cell& cell);

}  // namespace rotary::lab
