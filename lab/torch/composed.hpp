// SPDX-License-Identifier: Apache-2.0
// functions.hpp in torch's own operations: the core library cannot access tensors in GPU memory. It
// still makes the rows of cos and sin.
#pragma once

#include <torch/torch.h>

#include "rotary/rotations.hpp"
#include "rotary/shaw.hpp"

namespace rotary::lab::composed {

[[nodiscard]] at::Tensor rotate_heads(const at::Tensor& heads, const Rotations& rotations);

// These two functions hold a vector for each query and key in memory: [tokens, tokens, features].
[[nodiscard]] at::Tensor add_shaw_scores(const at::Tensor& scores, const at::Tensor& q,
                                         const at::Tensor& table, const ShawWindow& window);
[[nodiscard]] at::Tensor add_shaw_values(const at::Tensor& out, const at::Tensor& weights,
                                         const at::Tensor& table, const ShawWindow& window);

[[nodiscard]] at::Tensor add_learned_rows(const at::Tensor& x, const at::Tensor& table);

}  // namespace rotary::lab::composed
