// SPDX-License-Identifier: Apache-2.0
// How much a cell computes and holds: estimates from its sizes, good enough to tell minutes from
// weeks.
#pragma once

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

// Floating-point operations of a training step: of its matrix products, forward once and backward
// twice.
[[nodiscard]] double flops_of_step(const Cell& cell) noexcept;

// Bytes that training holds at its highest: weights, gradients, the two moments of AdamW, and what
// the forward pass keeps for the backward one.
[[nodiscard]] double bytes_of_training(const Cell& cell) noexcept;

}  // namespace rotary::lab
