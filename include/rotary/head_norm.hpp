// SPDX-License-Identifier: Apache-2.0
// QK-norm: the RMS norm that models put on queries and keys before or after the rotation.
#pragma once

#include <cstdint>
#include <span>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Which features of a token share one mean square.
enum class NormOver : std::int32_t {
  each_head = 1,  // those of a head: Qwen3, Gemma 3, HunYuan, Llama 4
  all_heads = 2,  // those of all heads of the view, which must be all that the token has: OLMo 2
};

// y = x / sqrt(mean(x²) + epsilon) · (weight_offset + weight), feature by feature.
struct HeadNorm {
  // [features], or [heads][features] over all_heads. Empty: nothing is multiplied (the norms
  // without weights of Llama 4 and NanoChat). Of a checkpoint in bf16 or f16: widened, which is
  // exact. Not owned; must live until the call that it is passed to returns.
  std::span<const float> weight = {};
  // Gemma: 1; from -2^126 to 2^126, rounded to float32; 0 without weights.
  double weight_offset = 0;
  double epsilon = 0;  // rms_norm_eps; must be given, at least 2^-126 and finite
  NormOver over = {};  // must be given
};

// Normalises every head of src into dst: queries as append() does keys (kv_cache.hpp). In place is
// the same view twice; otherwise as in rotate(). dst and src have the same extents and dtype, or
// src is f32 and dst bf16 or f16; their features are adjacent (a stride of 1); f64 is refused.
//
// Float32 arithmetic, the mean square in double, one rounding to nearest even on store (where
// instruction_set() is "AVX3_BF16" a bf16 result that is subnormal in float32 is 0): a float32
// result is within normalize_error_bound units of 2^-24 * |exact result| of the exact formula
// (numeric_contract.hpp). A token's bits depend on nothing but its elements and the instruction
// set. Models in bf16 may round in between, Transformers' Qwen3RMSNorm before it multiplies by the
// weight; this does not.
//
// Allocates nothing on success; executor as in RotateOptions. On an error nothing has been written.
// Errors: invalid_argument, with the requirement and what was got; unsupported, as rotate().
[[nodiscard]] ROTARY_API Status normalize_heads(HeadsView dst, ConstHeadsView src,
                                                const HeadNorm& norm,
                                                const Executor& executor = {}) noexcept;

}  // namespace rotary
