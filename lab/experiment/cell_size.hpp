// SPDX-License-Identifier: Apache-2.0
// Estimates of a cell's computation and memory from its sizes, good enough to tell minutes from
// weeks.
#pragma once

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

// Floating-point operations of the matrix products in a training step, forward once and backward
// twice.
[[nodiscard]] double flops_of_step(const Cell& cell) noexcept;

// Peak bytes of training: weights, gradients, the two moments of AdamW, and the values that the
// forward pass keeps for the backward one.
[[nodiscard]] double bytes_of_training(const Cell& cell) noexcept;

}  // namespace rotary::lab
