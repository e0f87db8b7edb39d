// SPDX-License-Identifier: Apache-2.0
// Exchanges each step's results between ranks in one message.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "lab/torch/ranks.hpp"

namespace rotary::lab {

// Totals of a step: of one rank, or of all ranks together.
struct StepTotals {
  double loss_sum = 0;
  double targets = 0;
  double cpu_s = 0;       // of the previous step
  double stop_asked = 0;  // how many ranks ask to stop
};

// Turns the gradients of this rank's loss sum into gradients of the full batch's mean loss. Every
// rank gets the same bits.
[[nodiscard]] StepTotals add_up(const std::vector<at::Tensor>& parameters, const StepTotals& mine,
                                Ranks& ranks);

}  // namespace rotary::lab
