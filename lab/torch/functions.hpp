// SPDX-License-Identifier: Apache-2.0
// The core library as differentiable torch functions. The library computes forward and backward on
// the tensors' memory, in f32 and f64. For tensors in GPU memory, composed.hpp computes instead.
// Failures are cli::Failure.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "lab/encodings/bias_encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "rotary/rotations.hpp"
#include "rotary/shaw.hpp"

namespace rotary::lab {

// Rows of cos and sin for positions 0 to tokens - 1.
[[nodiscard]] std::shared_ptr<const Rotations> rotations_of(const RotarySpec& spec,
                                                            std::int64_t tokens,
                                                            at::ScalarType dtype, Role role);

// Takes [batch, tokens, heads, features] with any strides; returns contiguous [batch, heads,
// tokens, features] for matrix products.
[[nodiscard]] at::Tensor rotate_heads(const at::Tensor& heads,
                                      const std::shared_ptr<const Rotations>& rotations);

struct BiasCall {
  BiasEncoding encoding;
  ModelConfig model;
  std::int64_t tokens = 0;
  at::ScalarType dtype = at::kFloat;
};

// numbers: [parameter_count] for make_bias(). Returns [heads, tokens, tokens].
[[nodiscard]] at::Tensor bias_scores(const at::Tensor& numbers, const BiasCall& call);

// scores [batch, heads, tokens, tokens]; q [batch, heads, tokens, features], scaled like the
// scores; table [window.rows(), features].
[[nodiscard]] at::Tensor add_shaw_scores(const at::Tensor& scores, const at::Tensor& q,
                                         const at::Tensor& table, const ShawWindow& window);

// out [batch, heads, tokens, features], weights [batch, heads, tokens, tokens].
[[nodiscard]] at::Tensor add_shaw_values(const at::Tensor& out, const at::Tensor& weights,
                                         const at::Tensor& table, const ShawWindow& window);

// x [batch, tokens, features] plus the first `tokens` rows of table [rows, features].
[[nodiscard]] at::Tensor add_learned_rows(const at::Tensor& x, const at::Tensor& table);

// The first `tokens` rows, [tokens, features]; not learned.
[[nodiscard]] at::Tensor sinusoidal_rows(double base, std::int64_t tokens, std::int64_t features,
                                         at::ScalarType dtype);

}  // namespace rotary::lab
