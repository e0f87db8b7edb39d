// SPDX-License-Identifier: Apache-2.0
#include "attention/cache/token_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "attention/cache/head_norm.hpp"
#include "rotation/apply/pair_order.hpp"
#include "runtime/of_dtype.hpp"

namespace rotary {
namespace {

// CacheKernels lacks the kernel that reads halves and writes neighbours.
static_assert(std::ranges::none_of(all_pairings, [](Pairing pairing) {
  return reads_halves(pairing) && !writes_halves(pairing);
}));

// The forward kernel that reads elements of dtype `from` and writes `to`.
kernels::Rotate kernel_for(const kernels::KernelTable& kernels, const Rotations& rotations,
                           DType from, DType to) {
  const Pairing pairing = rotations.window().pairing;
  if (from == to) return kernel_for(kernels_for(kernels, pair_order(pairing)), rotations, to);
  return of_dtype(kernels.cache->rotate[reads_halves(pairing)][writes_halves(pairing)], to);
}

// The tokens or the heads of a run. Strides are in elements.
struct Axis {
  std::int64_t count;
  std::int64_t src_stride;
  std::int64_t dst_stride;
};

// True if groups of `count` elements are adjacent along the axis, in src and in dst.
bool continues(const Axis& axis, std::int64_t count) {
  return axis.count == 1 || (axis.src_stride == count && axis.dst_stride == count);
}

struct Stretches {
  const Transfer& run;
  std::int64_t first_feature;
  std::int64_t count;
  const kernels::CacheKernels& kernels;
};

void store_stretch(const Stretches& of, std::int64_t src_offset, std::int64_t dst_offset) {
  const auto& [dst, src] = of.run;
  store_elements({.src = static_cast<const std::byte*>(src.data) +
                         (of.first_feature + src_offset) * size_in_bytes(src.dtype),
                  .dst = static_cast<std::byte*>(dst.data) +
                         (of.first_feature + dst_offset) * size_in_bytes(dst.dtype),
                  .count = of.count,
                  .from = src.dtype,
                  .to = dst.dtype},
                 of.kernels);
}

// Goes token by token if a token's heads are closer together than a head's tokens, in src or dst.
// Otherwise goes head by head within blocks of tokens. rotate-inl.hpp gives the reason.
void store_stretches(const Stretches& of, const Axis& tokens, const Axis& heads) {
  const bool heads_lie_together = tokens.count == 1 ||
                                  std::abs(heads.src_stride) <= std::abs(tokens.src_stride) ||
                                  std::abs(heads.dst_stride) <= std::abs(tokens.dst_stride);
  const std::int64_t at_once = heads_lie_together ? 1 : 16;
  for (std::int64_t begin = 0; begin < tokens.count; begin += at_once) {
    const std::int64_t end = std::min(begin + at_once, tokens.count);
    for (std::int64_t h = 0; h < heads.count; ++h) {
      for (std::int64_t t = begin; t < end; ++t) {
        store_stretch(of, t * tokens.src_stride + h * heads.src_stride,
                      t * tokens.dst_stride + h * heads.dst_stride);
      }
    }
  }
}

}  // namespace

void store_features(const Transfer& run, std::int64_t begin, std::int64_t end,
                    const kernels::CacheKernels& kernels) noexcept {
  const auto& [dst, src] = run;
  if (begin == end) return;
  Axis tokens{src.extents.tokens, src.strides.token, dst.strides.token};
  Axis heads{src.extents.heads, src.strides.head, dst.strides.head};
  Stretches stretches{.run = run, .first_feature = begin, .count = end - begin, .kernels = kernels};
  const auto join = [&stretches](Axis& axis) {
    if (!continues(axis, stretches.count)) return;
    stretches.count *= axis.count;
    axis = {.count = 1, .src_stride = 0, .dst_stride = 0};
  };
  const bool tokens_first = std::abs(tokens.dst_stride) < std::abs(heads.dst_stride);
  join(tokens_first ? tokens : heads);
  join(tokens_first ? heads : tokens);
  store_stretches(stretches, tokens, heads);
}

void store_rotated(const TokenRun& run, const Rotations& rotations,
                   const kernels::KernelTable& kernels) noexcept {
  const auto& [dst, src] = run.transfer;
  const HeadWindow& window = rotations.window();
  const auto kernel = kernel_for(kernels, rotations, src.dtype, dst.dtype);
  const ElementBytes bytes{size_in_bytes(src.dtype), size_in_bytes(dst.dtype)};
  for_each_block(
      {.src = static_cast<const std::byte*>(src.data) + window.first_feature * bytes.src,
       .dst = static_cast<std::byte*>(dst.data) + window.first_feature * bytes.dst,
       .src_token_stride = src.strides.token,
       .src_head_stride = src.strides.head,
       .dst_token_stride = dst.strides.token,
       .dst_head_stride = dst.strides.head,
       .tokens = src.extents.tokens,
       .heads = src.extents.heads,
       .pairs = window.pairs(),
       .rows = row_of(rotations, rotations.batch() == 1 ? 0 : run.batch, run.first_token),
       .row_stride = rotations.row_stride(),
       .lane_stride = rotations.lane_stride(),
       .cos_scale = 1,
       .sin_scale = 1},
      rotations, bytes, kernel);
  store_features(run.transfer, 0, window.first_feature, *kernels.cache);
  store_features(run.transfer, window.first_feature + window.rotary_dim, window.head_dim,
                 *kernels.cache);
}

}  // namespace rotary
