// SPDX-License-Identifier: Apache-2.0
// The contract of the kernels of quantized keys: int8 elements with a float32 scale for each head
// and token. As in kernels.hpp: plain pointers and sizes; kernels neither allocate nor fail.
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
  std::int64_t blocks;         // one behind the other, each with the next of the row's pairs
  std::int64_t pairs;          // of a block
  const float* rows;           // for token 0: [lane_stride] cos, [lane_stride] sin
  std::int64_t row_stride;     // elements from one token's row to the next
  std::int64_t lane_stride;    // elements from cos to sin
};

using ShiftInt8 = void (*)(const Int8Job& job);

struct Int8Kernels {
  ShiftInt8 half;
  ShiftInt8 interleaved;
};

}  // namespace rotary::kernels
