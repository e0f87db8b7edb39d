// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "attention/cache/head_norm.hpp"
#include "attention/cache/norm_checks.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/kv_cache.hpp"
#include "runtime/active_kernels.hpp"
#include "runtime/parts.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

Status check_pair(const HeadsView& dst, const ConstHeadsView& src) {
  if (auto status = check_view("dst", dst); !status) return status;
  if (auto status = check_adjacent_features("dst", dst); !status) return status;
  if (auto status = check_distinct("dst", dst); !status) return status;
  if (src == ConstHeadsView(dst)) return {};
  if (auto status = check_view("src", src); !status) return status;
  if (auto status = check_adjacent_features("src", src); !status) return status;
  if (auto status = check_conversion("src to dst", src.dtype, dst.dtype); !status) return status;
  if (dst.extents != src.extents) {
    return invalid_argument("dst and src must have the same extents, got ", describe(dst.extents),
                            " and ", describe(src.extents));
  }
  return check_apart("dst", dst, "src", src);
}

struct HeadsToNormalize {
  const HeadsView& dst;
  const ConstHeadsView& src;
  const HeadNorm& norm;
  const kernels::CacheKernels& kernels;
};

// Normalises a head through float32, 512 features at a time.
void normalize_head(const HeadsToNormalize& of, const HeadsOfToken& token, std::byte* dst,
                    const ScaledFeatures& head) {
  alignas(64) std::array<float, 512> buffer;
  constexpr auto at_once = static_cast<std::int64_t>(buffer.size());
  for (std::int64_t begin = 0; begin < token.features; begin += at_once) {
    ScaledFeatures part = head;
    part.begin = begin;
    part.count = std::min(at_once, token.features - begin);
    scale_features(buffer.data(), token, part, &of.norm, of.kernels);
    store_elements({.src = buffer.data(),
                    .dst = dst + begin * size_in_bytes(of.dst.dtype),
                    .count = part.count,
                    .from = DType::f32,
                    .to = of.dst.dtype},
                   of.kernels);
  }
}

void normalize_token(const HeadsToNormalize& of, std::int64_t batch, std::int64_t t) {
  const auto& [dst, src, norm, kernels] = of;
  const auto& n = src.extents;
  const HeadsOfToken token{
      .src = static_cast<const std::byte*>(src.data) +
             (batch * src.strides.batch + t * src.strides.token) * size_in_bytes(src.dtype),
      .head_stride = src.strides.head,
      .heads = n.heads,
      .features = n.features,
      .dtype = src.dtype};
  auto* const to = static_cast<std::byte*>(dst.data) +
                   (batch * dst.strides.batch + t * dst.strides.token) * size_in_bytes(dst.dtype);
  float scale = all_heads_scale(token, norm, kernels);
  for (std::int64_t h = 0; h < n.heads; ++h) {
    if (norm.over == NormOver::each_head) scale = head_scale(token, h, norm, kernels);
    normalize_head(of, token, to + h * dst.strides.head * size_in_bytes(dst.dtype),
                   {.head = h, .begin = 0, .count = n.features, .scale = scale});
  }
}

void normalize_range(const void* state, TokenRange range) noexcept {
  const auto& of = *static_cast<const HeadsToNormalize*>(state);
  const std::int64_t tokens = of.src.extents.tokens;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    normalize_token(of, i / tokens, i % tokens);
  }
}

}  // namespace

Status normalize_heads(HeadsView dst, ConstHeadsView src, const HeadNorm& norm,
                       const Executor& executor) noexcept {
  return guarded<NearestRounding>([&]() -> Status {
    dst = without_unused_strides(dst);
    src = without_unused_strides(src);
    if (auto status = check_pair(dst, src); !status) return status;
    if (auto status = check_norm("norm", norm, src); !status) return status;
    if (auto status = check_apart("dst", dst, "weight", heads_view(norm.weight)); !status)
      return status;
    const auto kernels = active_kernels();
    if (!kernels) return kernels.error();
    if (!has_elements(src.extents)) return {};
    const HeadsToNormalize heads{dst, src, norm, *(*kernels)->cache};
    run_in_parts(src.extents.batch * src.extents.tokens,
                 {.apply = normalize_range, .state = &heads}, executor);
    return {};
  });
}

}  // namespace rotary
