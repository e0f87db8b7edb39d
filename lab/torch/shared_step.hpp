// SPDX-License-Identifier: Apache-2.0
// SharedStep: exchanges each step's results between ranks in one message.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "lab/torch/ranks.hpp"

namespace rotary::lab {

// Sums over the rows of one rank, or of all.
struct StepTotals {
  double loss_sum = 0;
  double targets = 0;
  double cpu_s = 0;       // of the previous step
  double stop_asked = 0;  // how many ranks ask to stop
};

class SharedStep {
 public:
  // The ranks must outlive this.
  SharedStep(std::vector<at::Tensor> parameters, Ranks& ranks);

  // Replaces gradients of this rank's loss sum by those of the whole batch's mean loss, with the
  // same bits on every rank.
  [[nodiscard]] StepTotals add_up(const StepTotals& mine);

  [[nodiscard]] Ranks& ranks() noexcept { return ranks_; }

 private:
  [[nodiscard]] at::Tensor add_up(const at::Tensor& message);

  std::vector<at::Tensor> parameters_;
  Ranks& ranks_;
};

}  // namespace rotary::lab
