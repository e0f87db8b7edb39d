// SPDX-License-Identifier: Apache-2.0
// A language model's losses on batches, in nats.
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

// The loss of each target, in f64 on the processor. Computes `rows_at_once` rows at a time.
[[nodiscard]] at::Tensor losses_by_parts(Transformer& model, const Batch& batch,
                                         std::int64_t rows_at_once);

// The length of multiple 1, in tokens.
[[nodiscard]] std::int64_t unit_of(const Cell& cell);

// Validates sequences of `multiple` times the cell's unit. They are cut from windows as long as the
// longest evaluated sequence, so every multiple predicts the same bytes.
[[nodiscard]] LengthLoss validate(Transformer& model, const Cell& cell, std::string_view text,
                                  std::int64_t multiple);

// Validates at every length. At multiples above 1 also applies each of the cell's rescaling rules.
[[nodiscard]] std::vector<LengthLoss> validate_lengths(Transformer& model, const Cell& cell,
                                                       std::string_view text);

}  // namespace rotary::lab
