// SPDX-License-Identifier: Apache-2.0
// How attention divides its rows and keys for one instruction set, and how a row's limits and bias
// apply to a tile of keys.

#if defined(ROTARY_KERNELS_ATTEND_TILES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ATTEND_TILES_INL_HPP
#undef ROTARY_KERNELS_ATTEND_TILES_INL_HPP
#else
#define ROTARY_KERNELS_ATTEND_TILES_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/fetch-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr auto vector_lanes =
    static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));

constexpr std::int64_t lanes_of(std::size_t vectors) {
  return static_cast<std::int64_t>(vectors) * vector_lanes;
}

// True if there are 16 vector registers instead of 32.
inline constexpr bool few_registers = HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3;

// Rows of a register tile two vectors wide: its sums take 24 of 32 registers, or 12 of 16.
inline constexpr std::int64_t group_rows = few_registers ? rows_of_group / 2 : rows_of_group;

// Slots for rows in a packed group. A multiple of 4, because transposition handles four at a time.
inline constexpr std::int64_t group_stride = rounded_up(group_rows, 4);

static_assert(keys_of_panel % (2 * vector_lanes) == 0);
static_assert(lane_multiple % vector_lanes == 0);

// Multiplies the whole vectors that hold the first `count` numbers.
HWY_INLINE void multiply(float* numbers, std::int64_t count, float by) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, by);
  for (std::int64_t i = 0; i < count; i += vector_lanes)
    hn::Store(hn::Mul(hn::Load(d, numbers + i), factor), d, numbers + i);
}

// Keys [begin, end) counted from the first key of a tile; empty if end <= begin.
struct KeyRange {
  std::int64_t begin;
  std::int64_t end;
};

HWY_INLINE KeyRange within_tile(const RowLimits& limits, std::int64_t first_key,
                                std::int64_t count) {
  const std::int64_t begin = std::clamp(limits.first_key - first_key, std::int64_t{0}, count);
  const std::int64_t end = std::clamp(limits.end_key - first_key, begin, count);
  return {begin, end};
}

// The range widened to whole panels of two vectors of keys.
HWY_INLINE KeyRange whole_panels(const KeyRange& range) {
  constexpr std::int64_t width = 2 * vector_lanes;
  return {range.begin / width * width, rounded_up(range.end, width)};
}

struct RangesOfRows {
  KeyRange any;     // from the first to the last key that some row attends to
  KeyRange shared;  // seen by all rows; begin == end if there is none
};

HWY_INLINE RangesOfRows ranges_of(const RowLimits* limits, std::int64_t rows,
                                  std::int64_t first_key, std::int64_t count) {
  RangesOfRows all{.any = {keys_of_tile, 0}, .shared = {0, keys_of_tile}};
  for (std::int64_t r = 0; r < rows; ++r) {
    const KeyRange range = within_tile(limits[r], first_key, count);
    all.shared.begin = std::max(all.shared.begin, range.begin);
    all.shared.end = std::min(all.shared.end, range.end);
    if (range.begin >= range.end) continue;
    all.any.begin = std::min(all.any.begin, range.begin);
    all.any.end = std::max(all.any.end, range.end);
  }
  all.shared.end = std::max(all.shared.begin, all.shared.end);
  return all;
}

HWY_INLINE bool is_empty(const KeyRange& range) { return range.begin >= range.end; }

// The keys that a row sees before, or after, the keys that all rows share.
HWY_INLINE KeyRange before(const KeyRange& range, const KeyRange& shared) {
  return {range.begin, std::min(range.end, shared.begin)};
}
HWY_INLINE KeyRange after(const KeyRange& range, const KeyRange& shared) {
  return {std::max(range.begin, shared.end), range.end};
}

// Mask of the keys [place, place + Lanes(d)) that are within the range.
template <class D>
HWY_INLINE hn::Mask<D> lanes_within(D d, KeyRange range, std::int64_t place) {
  const auto first = [&](std::int64_t key) HWY_ATTR {
    const std::int64_t lanes = std::clamp(key - place, std::int64_t{0}, vector_lanes);
    return hn::FirstN(d, static_cast<std::size_t>(lanes));
  };
  return hn::AndNot(first(range.begin), first(range.end));
}

// Biases of two vectors of keys from `key` on.
HWY_INLINE const float* bias_of_panel(const BiasTable& bias, std::int64_t key) {
  alignas(attend_alignment) static constexpr float none[keys_of_panel] = {};
  if (bias.values == nullptr) return none;
  const std::int64_t last = bias.count - 2 * vector_lanes;
  const std::int64_t first = bias.of_key_0 + key;
  return bias.values + (first < 0 ? 0 : first > last ? last : first);
}
HWY_INLINE const float* bias_of_panel(const RowLimits& limits, std::int64_t key) {
  return bias_of_panel(BiasTable{limits.bias, limits.bias_of_key_0, limits.bias_count}, key);
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
