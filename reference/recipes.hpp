// SPDX-License-Identifier: Apache-2.0
// The float32 arithmetic of Transformers and ggml, operation by operation, with explicit roundings.
// It is bit-exact, except that pow, log, cos and sin are computed in long double and rounded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::reference {

// Rounds to the dtype (f32, bf16 or f16), ties to even, with its subnormals and Inf.
[[nodiscard]] float nearest(DType dtype, long double value);

// cos and sin [pairs] of a position, times the attention factor.
struct RecipeRow {
  std::vector<float> cos;
  std::vector<float> sin;
};

// A rotary class of Transformers. inv_freq has float32 values; double values with double_angle.
struct TransformersClass {
  std::span<const double> inv_freq;  // [pairs]
  double attention_scaling = 1;
  Rounding rounding = Rounding::every_step;
  DType dtype = DType::f32;  // of q and k
};

[[nodiscard]] RecipeRow transformers_row(const TransformersClass& rope, double position);

// The arguments of ggml_rope_ext, by ggml's names.
struct GgmlRope {
  int n_dims = 0;
  int n_ctx_orig = 0;
  float freq_base = 10000;
  float freq_scale = 1;
  float ext_factor = 0;
  float attn_factor = 1;
  float beta_fast = 32;
  float beta_slow = 1;
  std::vector<float> freq_factors = {};  // [n_dims / 2], or empty
};

struct CorrDims {
  float start;
  float end;
};
[[nodiscard]] CorrDims ggml_corr_dims(const GgmlRope& rope);

[[nodiscard]] RecipeRow ggml_row(const GgmlRope& rope, std::int32_t position);

// Rotates a head's window by a row and rounds each product and sum to dtype. Not for
// Direction::inverse.
[[nodiscard]] std::vector<float> rotate_rounding_every_step(std::span<const float> head,
                                                            const HeadWindow& window,
                                                            const RecipeRow& row, DType dtype,
                                                            Direction direction);

}  // namespace rotary::reference
