// SPDX-License-Identifier: Apache-2.0
// The contract of the kernels for quantized heads, which extends kernels.hpp: int8 elements with a
// float32 scale for each head and token.
#pragma once

#include <cstdint>

namespace rotary::kernels {

// Tokens and heads of one batch row, in place. Strides count elements; the feature stride is 1.
struct Int8Job {
  std::int8_t* data;  // feature 0 of token 0, head 0
  float* scales;      // for token 0, head 0
  std::int64_t token_stride;
  std::int64_t head_stride;
  std::int64_t scale_token_stride;
  std::int64_t scale_head_stride;
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t features;       // per head
  std::int64_t first_feature;  // first rotated feature
  std::int64_t blocks;         // blocks of a head, in order; each uses the next pairs of the row
  std::int64_t pairs;          // of a block
  const float* rows;           // for token 0: [lane_stride] cos, [lane_stride] sin
  std::int64_t row_stride;     // elements from one token's row to the next
  std::int64_t lane_stride;    // elements from cos to sin
};

using ShiftInt8 = void (*)(const Int8Job& job);

// Heads whose largest magnitude m is below this are stored as zeros, because 127/m could be Inf.
inline constexpr float least_quantized = 0x1p-100F;

// Stores one head of float32 as elements z * 127/m and the scale m/127; m: the largest |z|.
struct QuantizeJob {
  const float* from;  // [features]
  std::int8_t* to;    // [features]
  std::int64_t features;
  float* scale;
};

using QuantizeInt8 = void (*)(const QuantizeJob& job);

struct Int8Kernels {
  ShiftInt8 half;
  ShiftInt8 interleaved;
  QuantizeInt8 quantize;
};

}  // namespace rotary::kernels
