// SPDX-License-Identifier: Apache-2.0
// Makes cos/sin rows. A position's anchor is the multiple of steps_per_anchor at or below it. For
// each pair, the anchor's phase (position * turns modulo 2^64) is reduced to the nearest quarter
// turn, and two polynomials are evaluated in double. A rotation by cos and sin from a table then
// leads from the anchor to the position; f32 rows are rounded once. Exact wrapping makes every
// int64 position as accurate as position 0. The anchor depends only on the position, so a row has
// the same bits in every call. Fractional positions are given as phases, and have no step.

// Highway's toggling guard: the file is included again for each target.
#if defined(ROTARY_KERNELS_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ROWS_INL_HPP
#undef ROTARY_KERNELS_ROWS_INL_HPP
#else
#define ROTARY_KERNELS_ROWS_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/elements-inl.hpp"
#include "kernels/kernels.hpp"
#include "kernels/turn_polynomials.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Horner's rule in t. The number of coefficients is a constant, so the loop unrolls.
template <class D, std::size_t Count, class V = hn::Vec<D>>
HWY_INLINE V evaluate(D d, const double (&coefficients)[Count], V t) {
  V sum = hn::Set(d, coefficients[Count - 1]);
  for (std::size_t power = Count - 1; power-- > 0;) {
    sum = hn::MulAdd(sum, t, hn::Set(d, coefficients[power]));
  }
  return sum;
}

template <class D>
struct CosSin {
  hn::Vec<D> cos;
  hn::Vec<D> sin;
};

// cos and sin of a phase in units of 2^-64 turn.
template <class DU, class D = hn::RebindToFloat<DU>>
HWY_INLINE CosSin<D> cos_sin(DU du, hn::Vec<DU> phase) {
  const D d;
  const hn::RebindToSigned<DU> di;
  // phase = quarter * 2^62 + rest; |rest| <= 2^61 is at most an eighth of a turn
  const auto quarter = hn::ShiftRight<62>(hn::Add(phase, hn::Set(du, std::uint64_t{1} << 61)));
  const auto rest = hn::BitCast(di, hn::Sub(phase, hn::ShiftLeft<62>(quarter)));
  const auto r = hn::ConvertTo(d, rest);
  const auto t = hn::Mul(r, r);
  const auto sine = hn::Mul(r, evaluate(d, sine_of_units.values, t));
  const auto cosine = evaluate(d, cosine_of_units.values, t);
  // quarter 0: (c, s)  1: (-s, c)  2: (-c, -s)  3: (s, -c)
  const auto one = hn::Set(du, 1);
  const auto swapped = hn::RebindMask(d, hn::Eq(hn::And(quarter, one), one));
  const auto sine_sign = hn::BitCast(d, hn::ShiftLeft<63>(hn::ShiftRight<1>(quarter)));
  const auto cosine_sign =
      hn::BitCast(d, hn::ShiftLeft<63>(hn::Xor(quarter, hn::ShiftRight<1>(quarter))));
  return {hn::Xor(hn::IfThenElse(swapped, sine, cosine), cosine_sign),
          hn::Xor(hn::IfThenElse(swapped, cosine, sine), sine_sign)};
}

// Turns of pairs [pair, pair + Lanes); 0 for padding.
template <class DU>
HWY_INLINE hn::Vec<DU> load_turns(DU du, const RowsJob& job, std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(du));
  if (pair + lanes <= job.pairs) return hn::LoadU(du, job.turns + pair);
  HWY_ALIGN std::uint64_t padded[hn::MaxLanes(du)] = {};
  std::copy(job.turns + std::min(pair, job.pairs), job.turns + job.pairs, padded);
  return hn::Load(du, padded);
}

// cos and sin of an anchor, times the factor. The anchor is one position, or one for each pair.
template <class DU, class D = hn::RebindToFloat<DU>>
HWY_INLINE CosSin<D> at_anchor(DU du, hn::Vec<DU> position, hn::Vec<DU> turns, double factor) {
  const D d;
  const auto angle = cos_sin(du, hn::Mul(position, turns));
  auto cos = angle.cos;
  auto sin = angle.sin;
  if (factor != 1) {  // skips a multiplication by 1
    const auto by = hn::Set(d, factor);
    cos = hn::Mul(cos, by);
    sin = hn::Mul(sin, by);
  }
  return {cos, sin};
}

// Writes the row that is one step from its anchor.
template <class Real, class D>
HWY_INLINE void store_step(D d, CosSin<D> anchor, CosSin<D> step, Real* cos, Real* sin) {
  const auto row_cos = hn::NegMulAdd(anchor.sin, step.sin, hn::Mul(anchor.cos, step.cos));
  const auto row_sin = hn::MulAdd(anchor.cos, step.sin, hn::Mul(anchor.sin, step.cos));
  store_rounded(d, row_cos, cos);
  store_rounded(d, row_sin, sin);
}

template <class D>
HWY_INLINE CosSin<D> load_step(D d, const double* from, std::int64_t lane_stride) {
  return {hn::LoadU(d, from), hn::LoadU(d, from + lane_stride)};
}

// Writes tokens [begin, end) for pairs [pair, pair + Lanes). Their anchor is `position`.
template <class Real, class DU, class D = hn::RebindToFloat<DU>>
HWY_INLINE void step_from_anchor(DU du, const RowsJob job, std::int64_t pair,
                                 std::uint64_t position, std::int64_t begin, std::int64_t end) {
  const D d;
  const auto anchor =
      at_anchor(du, hn::Set(du, position), load_turns(du, job, pair), job.attention_factor);
  const std::int64_t row = 2 * job.lane_stride;
  for (std::int64_t token = begin; token < end; ++token) {
    const auto step = static_cast<std::int64_t>(job.first_position +
                                                static_cast<std::uint64_t>(token) - position);
    const double* const from = job.steps + step * row + pair;
    Real* const to = static_cast<Real*>(job.rows) + token * row + pair;
    store_step(d, anchor, load_step(d, from, job.lane_stride), to, to + job.lane_stride);
  }
}

template <class Real>
void make_rows(const RowsJob& job) {
  const hn::ScalableTag<std::uint64_t> du;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(du));
  static_assert(lane_multiple % lanes == 0, "a row is a whole number of vectors");
  constexpr std::uint64_t step_mask = steps_per_anchor - 1;
  for (std::int64_t begin = 0; begin < job.tokens;) {
    const std::uint64_t position = job.first_position + static_cast<std::uint64_t>(begin);
    const auto left = steps_per_anchor - static_cast<std::int64_t>(position & step_mask);
    const std::int64_t end = std::min(begin + left, job.tokens);
    for (std::int64_t pair = 0; pair < job.lane_stride; pair += lanes) {
      step_from_anchor<Real>(du, job, pair, position & ~step_mask, begin, end);
    }
    begin = end;
  }
}

// The axes of pairs [pair, pair + Lanes): a list without repeats, and the axis of each lane. Nearly
// every model has one or two axes per vector. Padding has the last pair's axis.
template <class DU>
struct AxesOfVector {
  std::int64_t present[most_axes];
  std::int64_t count = 0;
  hn::Vec<DU> of_lane;
};

template <class DU>
HWY_INLINE AxesOfVector<DU> load_axes(DU du, const AxisRowsJob& job, std::int64_t pair) {
  AxesOfVector<DU> axes;
  HWY_ALIGN std::uint64_t of_lane[hn::MaxLanes(du)];
  std::uint64_t seen = 0;
  for (std::size_t lane = 0; lane < hn::MaxLanes(du); ++lane) {
    const std::int64_t at = std::min(pair + static_cast<std::int64_t>(lane), job.rows.pairs - 1);
    const std::int32_t axis = job.pair_axes[at];
    of_lane[lane] = static_cast<std::uint64_t>(axis);
    if ((seen >> axis & 1) == 0) axes.present[axes.count++] = axis;
    seen |= std::uint64_t{1} << axis;
  }
  axes.of_lane = hn::Load(du, of_lane);
  return axes;
}

template <class DU>
HWY_INLINE bool share_anchors(const AxesOfVector<DU>& axes, const std::uint64_t* one,
                              const std::uint64_t* other) {
  std::uint64_t differences = 0;
  for (std::int64_t i = 0; i < axes.count; ++i) {
    differences |= one[axes.present[i]] ^ other[axes.present[i]];
  }
  return differences < static_cast<std::uint64_t>(steps_per_anchor);
}

// Makes pairs [pair, pair + Lanes) of every token. Keeps the anchors' cos and sin for the next
// token, since neighbouring patches mostly share anchors.
template <class Real, class DU, class D = hn::RebindToFloat<DU>>
HWY_INLINE void make_axis_vector(DU du, const AxisRowsJob job, std::int64_t pair) {
  const D d;
  constexpr std::uint64_t step_mask = steps_per_anchor - 1;
  const auto turns = load_turns(du, job.rows, pair);
  const auto axes = load_axes(du, job, pair);
  const std::int64_t first = axes.present[0];
  const std::int64_t row = 2 * job.rows.lane_stride;
  const auto step_at = [&](std::uint64_t position) HWY_ATTR {
    const auto step = static_cast<std::int64_t>(position & step_mask);
    return load_step(d, job.rows.steps + step * row + pair, job.rows.lane_stride);
  };
  CosSin<D> anchor{hn::Zero(d), hn::Zero(d)};
  for (std::int64_t token = 0; token < job.rows.tokens; ++token) {
    const std::uint64_t* const at = job.coordinates + token * job.axes;
    if (token == 0 || !share_anchors(axes, at, at - job.axes)) {
      auto position = hn::Set(du, at[first] & ~step_mask);
      for (std::int64_t i = 1; i < axes.count; ++i) {
        const auto axis = static_cast<std::uint64_t>(axes.present[i]);
        position = hn::IfThenElse(hn::Eq(axes.of_lane, hn::Set(du, axis)),
                                  hn::Set(du, at[axis] & ~step_mask), position);
      }
      anchor = at_anchor(du, position, turns, job.rows.attention_factor);
    }
    auto step = step_at(at[first]);
    for (std::int64_t i = 1; i < axes.count; ++i) {
      const auto axis = static_cast<std::uint64_t>(axes.present[i]);
      const auto follows = hn::RebindMask(d, hn::Eq(axes.of_lane, hn::Set(du, axis)));
      const auto other = step_at(at[axis]);
      step = {hn::IfThenElse(follows, other.cos, step.cos),
              hn::IfThenElse(follows, other.sin, step.sin)};
    }
    Real* const to = static_cast<Real*>(job.rows.rows) + token * row + pair;
    store_step(d, anchor, step, to, to + job.rows.lane_stride);
  }
}

template <class Real>
void make_axis_rows(const AxisRowsJob& job) {
  const hn::ScalableTag<std::uint64_t> du;
  for (std::int64_t pair = 0; pair < job.rows.lane_stride;
       pair += static_cast<std::int64_t>(hn::MaxLanes(du))) {
    make_axis_vector<Real>(du, job, pair);
  }
}

// Evaluates each phase, without anchor and step.
template <class Real>
void make_phase_row(const PhaseRowJob& job) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto factor = hn::Set(d, job.attention_factor);
  for (std::int64_t lane = 0; lane < job.lanes; lane += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto angle = cos_sin(du, hn::LoadU(du, job.phases + lane));
    store_rounded(d, hn::Mul(angle.cos, factor), static_cast<Real*>(job.cos) + lane);
    store_rounded(d, hn::Mul(angle.sin, factor), static_cast<Real*>(job.sin) + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
