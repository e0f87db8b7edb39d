// SPDX-License-Identifier: Apache-2.0
// Loads heads for attention: widens them to float32, rotates and scales them, and stores them in
// the order in which accumulate-inl.hpp reads them:
//   keys: [panel of two vectors of keys][head_dim][keys of the panel]
//   values: [tile][block of two vectors of features, or one][keys_of_tile][features of the block]
//   queries: [group][head_dim][group_stride]

#if defined(ROTARY_KERNELS_ATTEND_PACK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ATTEND_PACK_INL_HPP
#undef ROTARY_KERNELS_ATTEND_PACK_INL_HPP
#else
#define ROTARY_KERNELS_ATTEND_PACK_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/attend_tiles-inl.hpp"
#include "kernels/elements-inl.hpp"
#include "kernels/pair_io-inl.hpp"
#include "kernels/rotate-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Widens one head to float32 and fills up to padded_features with zeros.
template <class T>
HWY_INLINE void widen_head(const void* head, std::int64_t features, float* to) {
  const hn::ScalableTag<float> d;
  const auto* const from = static_cast<const T*>(head);
  const std::int64_t whole = features / vector_lanes * vector_lanes;
  for (std::int64_t f = whole; f < padded_features(features); f += vector_lanes) {
    hn::Store(hn::Zero(d), d, to + f);
  }
  for_each_vector(d, 0, features, [from, to](auto part, std::int64_t f) HWY_ATTR {
    hn::StoreU(load(part, from + f), part, to + f);
  });
}

// Rotates the pairs of a block in place, by one cos/sin row.
template <class Order>
HWY_INLINE void turn_block(const HeadRotation& rotation, const float* row, float* pairs) {
  const hn::ScalableTag<float> d;
  for_each_vector(d, 0, rotation.pairs, [&, pairs, row](auto part, std::int64_t pair) HWY_ATTR {
    const auto cos = hn::Mul(hn::LoadU(part, row + pair), hn::Set(part, rotation.cos_scale));
    const auto sin = hn::Mul(hn::LoadU(part, row + rotation.lane_stride + pair),
                             hn::Set(part, rotation.sin_scale));
    const auto in = Order::load_pairs(part, pairs, pair, rotation.pairs);
    Order::store_pairs(part, Turn<float>::of(part, in.x, in.y, cos, sin), pairs, pair,
                       rotation.pairs);
  });
}

template <class Order>
HWY_INLINE void turn_head(const HeadRotation& rotation, const float* row, float* head) {
  float* const first = head + rotation.first_feature;
  for (std::int64_t block = 0; block < rotation.blocks; ++block) {
    const std::int64_t pairs = block * rotation.pairs;
    turn_block<Order>(rotation, row + pairs, first + 2 * pairs);
  }
}

// Rotates head `at` of a job.
HWY_INLINE void turn_loaded(const HeadRotation& rotation, std::int64_t at, float* to) {
  const float* const row = rotation.rows + at * rotation.row_stride;
  switch (rotation.order) {
    case PairOrder::none:
      return;
    case PairOrder::half:
      return turn_head<Half>(rotation, row, to);
    case PairOrder::interleaved:
      return turn_head<Interleaved>(rotation, row, to);
  }
}

// Loads head `at` of a job as [padded_features(features)], widened and rotated.
template <class T>
HWY_INLINE void load_head(const void* head, std::int64_t features, const HeadRotation& rotation,
                          std::int64_t at, float* to) {
  widen_head<T>(head, features, to);
  turn_loaded(rotation, at, to);
}

#if HWY_TARGET != HWY_SCALAR

// Loads blocks of four elements that are `stride` apart.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto blocks = static_cast<std::int64_t>(hn::MaxLanes(half) / 4);
    return hn::Combine(d, load_blocks(half, from + blocks * stride, stride),
                       load_blocks(half, from, stride));
  }
}

// Transposes four features of Lanes(d) heads from [heads][features] to [features][heads]. Stores
// only the first `features`.
template <class D>
HWY_INLINE void transpose_four(D d, const float* from, std::int64_t stride, float* to,
                               std::int64_t to_stride, std::int64_t features) {
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> wide;
  const auto head = [&](std::int64_t i)
                        HWY_ATTR { return load_blocks(d, from + i * stride, 4 * stride); };
  const auto a = head(0);
  const auto b = head(1);
  const auto c = head(2);
  const auto e = head(3);
  const auto ab_low = hn::BitCast(wide, hn::InterleaveLower(d, a, b));
  const auto ce_low = hn::BitCast(wide, hn::InterleaveLower(d, c, e));
  const auto ab_high = hn::BitCast(wide, hn::InterleaveUpper(d, a, b));
  const auto ce_high = hn::BitCast(wide, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab_low, ce_low)), d, to);
  if (features < 2) return;
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab_low, ce_low)), d, to + to_stride);
  if (features < 3) return;
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, ab_high, ce_high)), d, to + 2 * to_stride);
  if (features < 4) return;
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, ab_high, ce_high)), d, to + 3 * to_stride);
}

// Transposes Lanes(d) heads of [padded_features(features)].
template <class D>
HWY_INLINE void transpose(D d, const float* from, std::int64_t features, float* to,
                          std::int64_t to_stride) {
  const std::int64_t stride = padded_features(features);
  for (std::int64_t f = 0; f < features; f += 4) {
    transpose_four(d, from + f, stride, to + f * to_stride, to_stride, features - f);
  }
}

#else

template <class D>
HWY_INLINE void transpose(D, const float* from, std::int64_t features, float* to,
                          std::int64_t to_stride) {
  for (std::int64_t f = 0; f < features; ++f) to[f * to_stride] = from[f];
}

#endif

template <class T>
void pack_keys(const PackJob& job) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t panel = 2 * vector_lanes;
  const std::int64_t stride = padded_features(job.features);
  for (std::int64_t first = 0; first < job.count; first += panel) {
    const std::int64_t count = std::min(panel, job.count - first);
    for (std::int64_t i = 0; i < panel; ++i) {
      float* const head = job.scratch + i * stride;
      if (i < count) {
        widen_head<T>(job.heads[first + i], job.features, head);
        if (job.scales != nullptr) multiply(head, stride, job.scales[first + i]);
        turn_loaded(job.rotation, first + i, head);
      } else {
        std::fill_n(head, stride, 0.0F);
      }
    }
    float* const packed = job.packed + (job.first + first) * job.features;
    transpose(d, job.scratch, job.features, packed, panel);
    transpose(d, job.scratch + vector_lanes * stride, job.features, packed + vector_lanes, panel);
  }
}

// Offset of a vector of features of key `place` in a packed tile.
HWY_INLINE std::int64_t place_of_values(std::int64_t place, std::int64_t feature,
                                        std::int64_t padded) {
  constexpr std::int64_t block = 2 * vector_lanes;
  const std::int64_t first = feature / block * block;
  const std::int64_t width = std::min(block, padded - first);
  return first * keys_of_tile + place * width + (feature - first);
}

template <class T>
void pack_values(const PackJob& job) {
  const hn::ScalableTag<float> d;
  const std::int64_t padded = padded_features(job.features);
  for (std::int64_t i = 0; i < job.count; ++i) {
    const std::int64_t key = job.first + i;
    const std::int64_t place = key % keys_of_tile;
    float* const tile = job.packed + (key - place) * padded;
    const auto* const from = static_cast<const T*>(job.heads[i]);
    const std::int64_t whole = job.features / vector_lanes * vector_lanes;
    for (std::int64_t f = whole; f < padded; f += vector_lanes) {
      hn::Store(hn::Zero(d), d, tile + place_of_values(place, f, padded));
    }
    for_each_vector(d, 0, job.features, [&](auto part, std::int64_t f) HWY_ATTR {
      auto value = load(part, from + f);
      if constexpr (std::is_same_v<T, std::int8_t>)
        value = hn::Mul(value, hn::Set(part, job.scales[i]));
      hn::StoreU(value, part, tile + place_of_values(place, f, padded));
    });
  }
}

// Packs rows of [padded_features(head_dim)] in groups of group_rows. Slots beyond the rows are 0:
// their results are unused, but subnormal numbers there would slow down the computation.
HWY_INLINE void pack_groups(const QueriesJob& job) {
#if HWY_TARGET == HWY_SCALAR
  const hn::ScalableTag<float> d;
  constexpr std::int64_t at_once = 1;
#else
  const hn::CappedTag<float, 4> d;
  constexpr std::int64_t at_once = 4;
#endif
  const std::int64_t stride = padded_features(job.head_dim);
  for (std::int64_t row = 0; row < rounded_up(job.rows, rows_of_group); row += group_rows) {
    float* const group = job.packed + (job.first + row) / group_rows * group_stride * job.head_dim;
    const std::int64_t rows = std::clamp<std::int64_t>(job.rows - row, 0, group_rows);
    for (std::int64_t r = 0; r < rows; r += at_once) {
      const float* const from = job.loaded + (row + r) * stride;
      transpose(d, from, job.head_dim, group + r, group_stride);
    }
    for (std::int64_t f = 0; rows < group_rows && f < job.head_dim; ++f) {
      std::fill_n(group + f * group_stride + rows, group_stride - rows, 0.0F);
    }
  }
}

template <class T>
void load_queries(const QueriesJob& job) {
  const std::int64_t stride = padded_features(job.head_dim);
  for (std::int64_t row = 0; row < job.rows; ++row) {
    float* const query = job.loaded + row * stride;
    load_head<T>(job.heads[row], job.head_dim, job.rotation, row, query);
    multiply(query, stride, job.scales[row]);
  }
  if (job.packed != nullptr) pack_groups(job);
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
