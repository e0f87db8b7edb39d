// SPDX-License-Identifier: Apache-2.0
#include "attention/cache/head_norm.hpp"

#include <cmath>
#include <cstring>

#include "runtime/of_dtype.hpp"

namespace rotary {

void store_elements(const StoreJob& job, const kernels::CacheKernels& kernels) noexcept {
  if (job.from == job.to) {
    std::memcpy(job.dst, job.src, static_cast<std::size_t>(job.count * size_in_bytes(job.to)));
    return;
  }
  of_dtype(kernels.narrow, job.to)(static_cast<const float*>(job.src), job.dst, job.count);
}

double sum_of_squares(const HeadsOfToken& token, std::int64_t head,
                      const kernels::CacheKernels& kernels) noexcept {
  return of_dtype(kernels.norm, token.dtype).sum_of_squares(token.head(head), token.features);
}

float norm_scale(double sum_of_squares, std::int64_t count, double epsilon) noexcept {
  return static_cast<float>(1 / std::sqrt(sum_of_squares / static_cast<double>(count) + epsilon));
}

float head_scale(const HeadsOfToken& token, std::int64_t head, const HeadNorm& norm,
                 const kernels::CacheKernels& kernels) noexcept {
  return norm_scale(sum_of_squares(token, head, kernels), token.features, norm.epsilon);
}

float all_heads_scale(const HeadsOfToken& token, const HeadNorm& norm,
                      const kernels::CacheKernels& kernels) noexcept {
  if (norm.over != NormOver::all_heads) return 1;
  double sum = 0;
  for (std::int64_t h = 0; h < token.heads; ++h) sum += sum_of_squares(token, h, kernels);
  return norm_scale(sum, token.heads * token.features, norm.epsilon);
}

void scale_features(float* dst, const HeadsOfToken& token, const ScaledFeatures& features,
                    const HeadNorm* gains, const kernels::CacheKernels& kernels) noexcept {
  const float* weight = nullptr;
  float offset = 0;
  if (gains != nullptr && !gains->weight.empty()) {
    const bool over_all = gains->over == NormOver::all_heads;
    const std::int64_t row = over_all ? token.first_head + features.head : 0;
    weight = gains->weight.data() + row * token.features + features.begin;
    offset = static_cast<float>(gains->weight_offset);
  }
  of_dtype(kernels.norm, token.dtype)
      .normalize({.src = token.head(features.head) + features.begin * size_in_bytes(token.dtype),
                  .dst = dst,
                  .count = features.count,
                  .scale = features.scale,
                  .weight = weight,
                  .offset = offset});
}

}  // namespace rotary
