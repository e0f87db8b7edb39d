// SPDX-License-Identifier: Apache-2.0
// The arithmetic of huggingface/transformers and ggml, operation by operation in float32, each
// rounding written out. Restated from their descriptions; slow, and exact about every rounding
// except those of cos and sin, which are computed in long double and rounded to float32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::reference {

// The nearest number of the dtype, ties to even: a significand of 24, 8 or 11 bits, its subnormal
// numbers, its Inf.
[[nodiscard]] float nearest(DType dtype, long double value);

// [pairs] each: the numbers that q is multiplied by.
struct RecipeRow {
  std::vector<float> cos;
  std::vector<float> sin;
};

// A rotary class of Transformers with these float32 frequencies (double_angle: double ones).
struct TransformersClass {
  std::span<const double> inv_freq;  // [pairs]
  double attention_scaling = 1;
  Rounding rounding = Rounding::every_step;
  DType dtype = DType::f32;  // of q and k
};

[[nodiscard]] RecipeRow transformers_row(const TransformersClass& rope, double position);

// The arguments of ggml_rope_ext, under ggml's names.
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

// ggml_rope_yarn_corr_dims.
struct CorrDims {
  float start;
  float end;
};
[[nodiscard]] CorrDims ggml_corr_dims(const GgmlRope& rope);

[[nodiscard]] RecipeRow ggml_row(const GgmlRope& rope, std::int32_t position);

// Rotates the window of one head by a row, each product and sum rounded to dtype; other features
// are unchanged. forward or transpose.
[[nodiscard]] std::vector<float> rotate_rounding_every_step(std::span<const float> head,
                                                            const HeadWindow& window,
                                                            const RecipeRow& row, DType dtype,
                                                            Direction direction);

}  // namespace rotary::reference
