// SPDX-License-Identifier: Apache-2.0
// Losses of a model on batches, in nats per predicted byte.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/data/batches.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/learner.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {

[[nodiscard]] LossSum loss_of(Transformer& model, const Batch& batch);

// In tokens, what a multiple of 1 is.
[[nodiscard]] std::int64_t unit_of(const Cell& cell);

// On text that the cell does not train on, at `multiple` times its unit: windows of the
// longest sequences that the cell is evaluated at, cut into sequences of this length. So every
// multiple predicts the same bytes, and the loss differs by what a byte sees.
[[nodiscard]] LengthLoss validate(Transformer& model, const Cell& cell, std::string_view text,
                                  std::int64_t multiple);

// At every length and, beyond the first, by every rule that the cell asks for.
[[nodiscard]] std::vector<LengthLoss> validate_lengths(Transformer& model, const Cell& cell,
                                                       std::string_view text);

}  // namespace rotary::lab
