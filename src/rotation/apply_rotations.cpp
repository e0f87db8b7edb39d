// SPDX-License-Identifier: Apache-2.0
#include "rotation/apply_rotations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "rotation/strided_features.hpp"

namespace rotary {
namespace {

kernels::Rotate kernel_for(const kernels::KernelTable& table, Pairing pairing, DType dtype) {
  if (pairing == Pairing::half) {
    return dtype == DType::bf16 ? table.rotate_half_bf16 : table.rotate_half_f32;
  }
  return dtype == DType::bf16 ? table.rotate_interleaved_bf16 : table.rotate_interleaved_f32;
}

// Rows hold A cos and A sin. R^T negates the sine; the inverse of A R is R^T / A, hence also 1/A².
void set_scales(Direction direction, double attention_factor, kernels::RotateJob& job) {
  const double scale =
      direction == Direction::inverse ? 1 / (attention_factor * attention_factor) : 1;
  job.cos_scale = static_cast<float>(scale);
  job.sin_scale = direction == Direction::forward ? 1.0F : -job.cos_scale;
}

const std::byte* element(const ConstHeadsView& view, std::int64_t batch, std::int64_t feature) {
  return static_cast<const std::byte*>(view.data) +
         (batch * view.strides.batch + feature * view.strides.feature) * size_in_bytes(view.dtype);
}

std::byte* element(const HeadsView& view, std::int64_t batch, std::int64_t feature) {
  return static_cast<std::byte*>(view.data) +
         (batch * view.strides.batch + feature * view.strides.feature) * size_in_bytes(view.dtype);
}

kernels::RotateJob job_for(const Transfer& transfer, const Rotations& rotations,
                           std::int64_t batch) {
  const auto& [dst, src] = transfer;
  const auto& n = dst.extents;
  const std::int64_t first = rotations.window().first_feature;
  return {.src = element(src, batch, first),
          .dst = element(dst, batch, first),
          .src_token_stride = src.strides.token,
          .src_head_stride = src.strides.head,
          .dst_token_stride = dst.strides.token,
          .dst_head_stride = dst.strides.head,
          .tokens = n.tokens,
          .heads = n.heads,
          .pairs = rotations.window().pairs(),
          .rows = rotations.cos(rotations.batch() == 1 ? 0 : batch, 0).data(),
          .row_stride = 2 * rotations.lane_stride(),
          .lane_stride = rotations.lane_stride(),
          .cos_scale = 1,
          .sin_scale = 1};
}

// Features [begin, end) of every head, as they are.
void copy_features(const Transfer& transfer, std::int64_t begin, std::int64_t end) {
  if (begin == end) return;
  const auto& [dst, src] = transfer;
  const std::int64_t size = size_in_bytes(dst.dtype);
  const auto& n = dst.extents;
  const bool contiguous = src.strides.feature == 1 && dst.strides.feature == 1;
  const std::int64_t run = contiguous ? end - begin : 1;  // features copied at once
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      for (std::int64_t h = 0; h < n.heads; ++h) {
        for (std::int64_t f = begin; f < end; f += run) {
          std::memcpy(element(dst, b, f) + (t * dst.strides.token + h * dst.strides.head) * size,
                      element(src, b, f) + (t * src.strides.token + h * src.strides.head) * size,
                      static_cast<std::size_t>(run * size));
        }
      }
    }
  }
}

bool is_empty(const Extents& n) { return n.batch == 0 || n.tokens == 0 || n.heads == 0; }

}  // namespace

void apply_rotations(const Transfer& transfer, const Rotations& rotations, Direction direction,
                     const kernels::KernelTable& kernels) noexcept {
  const auto& [dst, src] = transfer;
  if (is_empty(dst.extents)) return;
  const HeadWindow& window = rotations.window();
  const auto kernel = kernel_for(kernels, window.pairing, dst.dtype);
  const bool contiguous = src.strides.feature == 1 && dst.strides.feature == 1;
  for (std::int64_t batch = 0; batch < dst.extents.batch; ++batch) {
    auto job = job_for(transfer, rotations, batch);
    set_scales(direction, rotations.attention_factor(), job);
    if (contiguous) {
      kernel(job);
    } else {
      rotate_strided_features({.job = job,
                               .kernel = kernel,
                               .pairing = window.pairing,
                               .element_bytes = size_in_bytes(dst.dtype),
                               .src_feature_stride = src.strides.feature,
                               .dst_feature_stride = dst.strides.feature});
    }
  }
  if (dst.data == src.data && dst.strides == src.strides) return;
  copy_features(transfer, 0, window.first_feature);
  copy_features(transfer, window.first_feature + window.rotary_dim, window.head_dim);
}

}  // namespace rotary
