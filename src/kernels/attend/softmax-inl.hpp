// SPDX-License-Identifier: Apache-2.0
// Updates the unfinished softmax of a row: replaces scores by weights (2^x in float32) and rescales
// earlier sums after a larger score.

#if defined(ROTARY_KERNELS_SOFTMAX_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_SOFTMAX_INL_HPP
#undef ROTARY_KERNELS_SOFTMAX_INL_HPP
#else
#define ROTARY_KERNELS_SOFTMAX_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/attend/attend_kernels.hpp"
#include "kernels/attend/attend_tiles-inl.hpp"
#include "kernels/attend/exp2_polynomial.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// 2^x for x in [-126, 0] with relative error at most 2^-22.9: the polynomial has 2^-26.7, its last
// two roundings 2^-24 and 2^-24.5. Gives exactly 1 for 0, 0 for -127, and NaN for NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp2_in_range(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  // Adding the shifter rounds x to an integer in the lowest bits, and adds the exponent's bias.
  const auto shifter = hn::Set(d, 0x1.8p23F + 127);
  const auto shifted = hn::Add(x, shifter);
  const auto f = hn::Sub(x, hn::Sub(shifted, shifter));
  constexpr std::size_t count = sizeof(exp2_coefficients) / sizeof(float);
  auto p = hn::Set(d, exp2_coefficients[count - 1]);
  for (std::size_t power = count - 1; power-- > 0;) {
    p = hn::MulAdd(p, f, hn::Set(d, exp2_coefficients[power]));
  }
  p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
  // Multiplies instead of adding to the exponent of p, which would turn some NaN into a number.
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

// As exp2_in_range(), for x <= 0. Absolute error up to 2^-126 for x < -126; 0 for x <= -127.
template <class D>
HWY_INLINE hn::Vec<D> exp2(D d, hn::Vec<D> x) {
  const auto least = hn::Set(d, -127.0F);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
  return exp2_in_range(d, hn::Max(least, x));  // for NaN, x86 returns the second operand
#else  // for NaN, NEON returns the number, other targets either operand
  return exp2_in_range(d, hn::IfThenElse(hn::Lt(x, least), least, x));
#endif
}

// Weights below 2^-100 of the largest become 0. Their products with values could be subnormal. A
// subnormal costs about 150 cycles on Intel processors: with ALiBi, a third of a call's time.
inline constexpr float least_exponent = -100.0F;

template <class D>
HWY_INLINE hn::Vec<D> weight_of(D d, hn::Vec<D> x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, least_exponent)), exp2_in_range(d, x));
}

// Replaces the scores of a tile's whole panels by 2^(score - base). Returns their sum in each lane.
// A key's place in its tile determines when it is added.
template <class D>
HWY_INLINE hn::Vec<D> weigh(D d, float* scores, KeyRange panels, float base) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto subtracted = hn::Set(d, base);
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  for (std::int64_t j = panels.begin; j < panels.end; j += 2 * lanes) {
    const auto first = weight_of(d, hn::Sub(hn::Load(d, scores + j), subtracted));
    const auto second = weight_of(d, hn::Sub(hn::Load(d, scores + j + lanes), subtracted));
    hn::Store(first, d, scores + j);
    hn::Store(second, d, scores + j + lanes);
    even = hn::Add(even, first);
    odd = hn::Add(odd, second);
  }
  return hn::Add(even, odd);
}

struct StateRow {
  float* max;
  float* sum;
  float* sums_of_values;
  std::int64_t features;  // padded
  float* weights;         // sums of weights at place 0; null: not wanted
  std::int64_t places;
};

HWY_INLINE StateRow state_row(const SoftmaxState& state, std::int64_t row, std::int64_t features) {
  const std::int64_t padded = padded_features(features);
  float* const weights =
      state.sums_of_weights == nullptr
          ? nullptr
          : state.sums_of_weights + row * sums_of_weights_size(state.places) + lane_multiple;
  return {.max = state.max + row,
          .sum = state.sum + row,
          .sums_of_values = state.sums_of_values + row * padded,
          .features = padded,
          .weights = weights,
          .places = state.places};
}

HWY_INLINE float exp2_of(float x) {
  const hn::CappedTag<float, 1> d;
  return hn::GetLane(exp2(d, hn::Set(d, x)));
}

// The number to subtract from scores: their maximum, or 0 if there is none yet.
HWY_INLINE float base_of(float max) { return max == minus_infinity ? 0.0F : max; }

// A row's new maximum, as base_of() gives it, and the factor for earlier sums.
struct Raised {
  float base;
  float factor;
};

// Updates the maximum for a tile whose largest score is tile_max, and rescales earlier sums.
HWY_INLINE Raised raise_max(const StateRow& row, float tile_max) {
  const float before = *row.max;
  const float max = before > tile_max ? before : tile_max;
  const float base = base_of(max);
  if (max == before) return {.base = base, .factor = 1};
  const float factor = exp2_of(before - base);
  multiply(row.sums_of_values, row.features, factor);
  *row.sum *= factor;
  *row.max = max;
  return {.base = base, .factor = factor};
}

// Rescales the sums of weights at places before `end`. Later places are still 0.
HWY_INLINE void scale_weights(const StateRow& row, std::int64_t end, float factor) {
  const std::int64_t last = std::clamp<std::int64_t>(end, 0, row.places + lane_multiple);
  multiply(row.weights - lane_multiple, lane_multiple + last, factor);
}

// Adds the weights of whole panels at their places. Weights beyond the ends go to the margins, lane
// by lane. first: the place of the tile's key 0.
HWY_INLINE void add_at_places(const StateRow& row, const float* weights, KeyRange panels,
                              std::int64_t first) {
  const hn::ScalableTag<float> d;
  float* const before = row.weights - lane_multiple;
  float* const after = row.weights + row.places;
  std::int64_t j = panels.begin;
  auto ending = hn::Load(d, before);
  for (; j < panels.end && first + j <= -vector_lanes; j += vector_lanes) {
    ending = hn::Add(ending, hn::Load(d, weights + j));
  }
  hn::Store(ending, d, before);
  for (; j < panels.end && first + j < row.places; j += vector_lanes) {
    float* const sums = row.weights + first + j;
    hn::StoreU(hn::Add(hn::LoadU(d, sums), hn::Load(d, weights + j)), d, sums);
  }
  ending = hn::LoadU(d, after);
  for (; j < panels.end; j += vector_lanes) ending = hn::Add(ending, hn::Load(d, weights + j));
  hn::StoreU(ending, d, after);
}

// The weights of one row in a tile.
struct WeighedRow {
  const float* weights;
  float sum;
  float factor;  // of raise_max()
};

// Adds a tile's weights for the keys in `range` to the row's sum and to its places. If all keys
// of `range` belong to the first place, or all to the last, one addition is enough. The order of
// summation depends on this row only.
HWY_INLINE void add_weights_of(const StateRow& row, const WeighedRow& weighed, KeyRange range,
                               std::int64_t first) {
  *row.sum += weighed.sum;
  if (row.weights == nullptr || is_empty(range)) return;
  const KeyRange panels = whole_panels(range);
  if (weighed.factor != 1) scale_weights(row, first + panels.end, weighed.factor);
  if (first + range.end <= 1) {
    *(row.weights - lane_multiple) += weighed.sum;
  } else if (first + range.begin >= row.places - 1) {
    row.weights[row.places] += weighed.sum;
  } else {
    add_at_places(row, weighed.weights, panels, first);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
