// SPDX-License-Identifier: Apache-2.0
// The unfinished softmax of a row: 2^x in float32, weights in the place of scores, and what a
// larger score does to what was summed before. Compiled once for each instruction set.

#if defined(ROTARY_KERNELS_SOFTMAX_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_SOFTMAX_INL_HPP
#undef ROTARY_KERNELS_SOFTMAX_INL_HPP
#else
#define ROTARY_KERNELS_SOFTMAX_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/attend_kernels.hpp"
#include "kernels/attend_tiles-inl.hpp"
#include "kernels/exp2_polynomial.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// 2^x for x <= 0, and 0 for x <= -127; between -127 and -126 off by up to 2^-126. Otherwise within
// 2^-22.9 of it, relatively: the polynomial 2^-26.7, its last two roundings 2^-24 and 2^-24.5.
// Exactly 1 for 0, a NaN for a NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp2(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto least = hn::Set(d, -127.0F);
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  const auto bounded = hn::IfThenElse(hn::Lt(x, least), least, x);
#else
  const auto bounded = hn::Max(least, x);  // of an unordered two the second, or the NaN
#endif
  // The sum is rounded to an integer, which stands in its lowest bits.
  const auto shifter = hn::Set(d, 0x1.8p23F);
  const auto shifted = hn::Add(bounded, shifter);
  const auto f = hn::Sub(bounded, hn::Sub(shifted, shifter));
  constexpr std::size_t count = sizeof(exp2_coefficients) / sizeof(float);
  auto p = hn::Set(d, exp2_coefficients[count - 1]);
  for (std::size_t power = count - 1; power-- > 0;) {
    p = hn::MulAdd(p, f, hn::Set(d, exp2_coefficients[power]));
  }
  p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
  // Into the exponent: at -127, where p is 1, all bits become 0.
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
}

// Scores of whole panels of a tile become 2^(score - base), which are summed: what is added to what
// depends on a key's place in its tile.
HWY_INLINE float weigh(float* scores, KeyRange panels, float base) {
  const hn::ScalableTag<float> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto subtracted = hn::Set(d, base);
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  for (std::int64_t j = panels.begin; j < panels.end; j += 2 * lanes) {
    const auto first = exp2(d, hn::Sub(hn::Load(d, scores + j), subtracted));
    const auto second = exp2(d, hn::Sub(hn::Load(d, scores + j + lanes), subtracted));
    hn::Store(first, d, scores + j);
    hn::Store(second, d, scores + j + lanes);
    even = hn::Add(even, first);
    odd = hn::Add(odd, second);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

// One row of a SoftmaxState.
struct StateRow {
  float* max;
  float* sum;
  float* sums_of_values;
  std::int64_t features;  // padded
};

HWY_INLINE StateRow state_row(const SoftmaxState& state, std::int64_t row, std::int64_t features) {
  const std::int64_t padded = padded_features(features);
  return {state.max + row, state.sum + row, state.sums_of_values + row * padded, padded};
}

HWY_INLINE void scale_sums(const StateRow& row, float factor) {
  const hn::ScalableTag<float> d;
  const auto factors = hn::Set(d, factor);
  for (std::int64_t f = 0; f < row.features; f += static_cast<std::int64_t>(hn::MaxLanes(d))) {
    hn::Store(hn::Mul(hn::Load(d, row.sums_of_values + f), factors), d, row.sums_of_values + f);
  }
}

HWY_INLINE float exp2_of(float x) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(exp2(d, hn::Set(d, x)));
}

// What is subtracted from scores: their maximum, unless there is none yet.
HWY_INLINE float base_of(float max) { return max == minus_infinity ? 0.0F : max; }

// Takes the weights of whole panels, the largest of whose scores is tile_max, into the sum of the
// row; scales what was summed before to the new maximum.
HWY_INLINE void weigh_row(const StateRow& row, float* scores, KeyRange panels, float tile_max) {
  const float before = *row.max;
  const float max = before > tile_max ? before : tile_max;
  const float base = base_of(max);
  const float sum = weigh(scores, panels, base);
  if (max != before) {
    const float factor = exp2_of(before - base);
    scale_sums(row, factor);
    *row.sum *= factor;
    *row.max = max;
  }
  *row.sum += sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
