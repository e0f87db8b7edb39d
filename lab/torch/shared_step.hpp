// SPDX-License-Identifier: Apache-2.0
// SharedStep: what ranks that share a batch tell one another in each step, in one message.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "lab/torch/ranks.hpp"

namespace rotary::lab {

// Sums over the rows of one rank, or of all of them.
struct StepTotals {
  double loss_sum = 0;
  double targets = 0;
  double cpu_s = 0;       // of the step before
  double stop_asked = 0;  // the number of ranks that ask for it
};

class SharedStep {
 public:
  // The ranks must outlive it.
  SharedStep(std::vector<at::Tensor> parameters, Ranks& ranks);

  // The gradients are those of the loss sum of this rank's rows; afterwards of the mean loss of the
  // whole batch, the same bits on every rank.
  [[nodiscard]] StepTotals add_up(const StepTotals& mine);

  [[nodiscard]] Ranks& ranks() noexcept { return ranks_; }

 private:
  [[nodiscard]] at::Tensor add_up(const at::Tensor& message);

  std::vector<at::Tensor> parameters_;
  Ranks& ranks_;
};

}  // namespace rotary::lab
