// SPDX-License-Identifier: Apache-2.0
// QK-norm: the RMS norm that models apply to queries and keys before or after the rotation.
//
//   normalize_heads(q, q, {.weight = w, .epsilon = 1e-6, .over = NormOver::each_head});  // Qwen 3
#pragma once

#include <cstdint>
#include <span>

#include "rotary/executor.hpp"
#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Selects which features of a token share one mean square.
enum class NormOver : std::int32_t {
  each_head = 1,  // the features of one head: Qwen3, Gemma 3, HunYuan, Llama 4
  all_heads = 2,  // the features of all heads of the view, which must hold every head of the token:
                  // OLMo 2
};

// y = x / sqrt(mean(x²) + epsilon) · (weight_offset + weight), feature by feature.
struct HeadNorm {
  // [features], or [heads][features] over all_heads. Empty: no multiplication (the norms without
  // weights of Llama 4 and NanoChat). Widen bf16 or f16 weights of a checkpoint, which is exact.
  // Not owned; must live until the call that it is passed to returns.
  std::span<const float> weight = {};
  // Gemma: 1; from -2^126 to 2^126, rounded to float32; 0 without weights.
  double weight_offset = 0;
  double epsilon = 0;  // rms_norm_eps; must be given, at least 2^-126 and finite
  NormOver over = {};  // must be given
};

// Normalises every head of src into dst, for queries as append() does for keys (kv_cache.hpp). To
// work in place, pass the same view twice; otherwise as in rotate(). dst and src have the same
// extents and dtype, or src is f32 and dst bf16 or f16; their features are adjacent (a stride of
// 1); f64 is refused.
//
// Float32 arithmetic, the mean square in double, one rounding to nearest even on store (on
// instruction_set() "AVX3_BF16" a bf16 result that is subnormal in float32 is 0). A float32 result
// is within normalize_error_bound units of 2^-24 * |exact result| of the exact formula
// (numeric_contract.hpp). A token's bits depend only on its elements and the instruction set.
// Models in bf16 may round in between, as Transformers' Qwen3RMSNorm does before it multiplies by
// the weight; this function does not.
//
// Allocates nothing on success; executor as in RotateOptions. On an error nothing has been written.
// Errors: invalid_argument, with the requirement and what was got; unsupported, as rotate().
[[nodiscard]] ROTARY_API Status normalize_heads(HeadsView dst, ConstHeadsView src,
                                                const HeadNorm& norm,
                                                const Executor& executor = {}) noexcept;

}  // namespace rotary
