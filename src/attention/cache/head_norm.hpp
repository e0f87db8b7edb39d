// SPDX-License-Identifier: Apache-2.0
// Norms of heads, for normalize_heads() and append(). No function here fails or allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cache_kernels.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Copies count adjacent elements, rounding once. Requires a checked conversion from -> to.
struct StoreJob {
  const void* src;
  void* dst;
  std::int64_t count;
  DType from;
  DType to;
};
void store_elements(const StoreJob& job, const kernels::CacheKernels& kernels) noexcept;

struct HeadsOfToken {
  const std::byte* src;
  std::int64_t head_stride;  // in elements
  std::int64_t heads;
  std::int64_t features;
  DType dtype;
  std::int64_t first_head = 0;  // index of src's first head within the token, for per-head weights

  [[nodiscard]] const std::byte* head(std::int64_t h) const noexcept {
    return src + h * head_stride * size_in_bytes(dtype);
  }
};

// 1 / sqrt(mean square + epsilon) of one head, in double, rounded once to float32.
[[nodiscard]] float head_scale(const HeadsOfToken& token, std::int64_t head, const HeadNorm& norm,
                               const kernels::CacheKernels& kernels) noexcept;

// 1 / sqrt(mean square + epsilon) over all heads if norm.over says so, otherwise 1.
[[nodiscard]] float all_heads_scale(const HeadsOfToken& token, const HeadNorm& norm,
                                    const kernels::CacheKernels& kernels) noexcept;

[[nodiscard]] double sum_of_squares(const HeadsOfToken& token, std::int64_t head,
                                    const kernels::CacheKernels& kernels) noexcept;
[[nodiscard]] float norm_scale(double sum_of_squares, std::int64_t count, double epsilon) noexcept;

// Features [begin, begin + count) of a head, to be multiplied by scale and gain.
struct ScaledFeatures {
  std::int64_t head;  // counted from src
  std::int64_t begin;
  std::int64_t count;
  float scale;
};
void scale_features(float* dst, const HeadsOfToken& token, const ScaledFeatures& features,
                    const HeadNorm* gains,  // null: scale only
                    const kernels::CacheKernels& kernels) noexcept;

}  // namespace rotary
