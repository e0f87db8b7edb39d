// SPDX-License-Identifier: Apache-2.0
// The core library as functions that torch can differentiate: forward and backward are both its
// own, on the memory of the tensors. f32 and f64. Tensors that are not in the memory of the
// processor go through composed.hpp. Failures are cli::Failure.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "lab/encodings/bias_encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "rotary/rotations.hpp"
#include "rotary/shaw.hpp"

namespace rotary::lab {

// Whole rows of cos and sin for 0, 1, ... tokens - 1.
[[nodiscard]] std::shared_ptr<const Rotations> rotations_of(const RotarySpec& spec,
                                                            std::int64_t tokens,
                                                            at::ScalarType dtype, Role role);

// heads [batch, tokens, heads, features], any strides; the result [batch, heads, tokens, features],
// contiguous: what a product of matrices wants.
[[nodiscard]] at::Tensor rotate_heads(const at::Tensor& heads,
                                      const std::shared_ptr<const Rotations>& rotations);

struct BiasCall {
  BiasEncoding encoding;
  ModelConfig model;
  std::int64_t tokens = 0;
  at::ScalarType dtype = at::kFloat;
};

// numbers: [parameter_count], what make_bias() reads. The result is [heads, tokens, tokens].
[[nodiscard]] at::Tensor bias_scores(const at::Tensor& numbers, const BiasCall& call);

// scores [batch, heads, tokens, tokens], q [batch, heads, tokens, features] scaled as in the
// scores, table [window.rows(), features].
[[nodiscard]] at::Tensor add_shaw_scores(const at::Tensor& scores, const at::Tensor& q,
                                         const at::Tensor& table, const ShawWindow& window);

// out [batch, heads, tokens, features], weights [batch, heads, tokens, tokens].
[[nodiscard]] at::Tensor add_shaw_values(const at::Tensor& out, const at::Tensor& weights,
                                         const at::Tensor& table, const ShawWindow& window);

// x [batch, tokens, features] + rows 0, 1, ... tokens - 1 of table [rows, features].
[[nodiscard]] at::Tensor add_learned_rows(const at::Tensor& x, const at::Tensor& table);

// [tokens, features], rows 0, 1, ...: nothing to learn.
[[nodiscard]] at::Tensor sinusoidal_rows(double base, std::int64_t tokens, std::int64_t features,
                                         at::ScalarType dtype);

}  // namespace rotary::lab
