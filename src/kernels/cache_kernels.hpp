// SPDX-License-Identifier: Apache-2.0
// Kernels for the KV cache and for head norms, under the contract of kernels.hpp.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace rotary::kernels {

// dst[i] = src[i] * scale * (offset + weight[i]) in float32. Each operation is rounded.
struct NormalizeJob {
  const void* src;  // [count] elements of the kernel's dtype
  float* dst;       // [count]; may be src
  std::int64_t count;
  float scale;          // 1 / root mean square
  const float* weight;  // [count], or null: src * scale
  float offset;
};

using Normalize = void (*)(const NormalizeJob& job);

// Sum of the squares of [count] elements of the kernel's dtype. Squares are exact and added in
// double; the order depends only on count.
using SumOfSquares = double (*)(const void* src, std::int64_t count);

// Rounds [count] float32 once, to nearest even.
using Narrow = void (*)(const float* src, void* dst, std::int64_t count);

// For elements of one dtype.
struct NormKernels {
  Normalize normalize;
  SumOfSquares sum_of_squares;
};

struct CacheKernels {
  // Rotate float32 and round once when storing. [reads halves][writes halves]
  PerDType<Rotate> rotate[2][2];
  PerDType<Narrow> narrow;
  PerDType<NormKernels> norm;
};

}  // namespace rotary::kernels
