// SPDX-License-Identifier: Apache-2.0
// A bias that is piecewise linear in a precomputed term. Computed in double and rounded once, so a
// steep piece with an offset of opposite sign loses no accuracy.

#if defined(ROTARY_KERNELS_STRAIGHT_PIECES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_STRAIGHT_PIECES_INL_HPP
#undef ROTARY_KERNELS_STRAIGHT_PIECES_INL_HPP
#else
#define ROTARY_KERNELS_STRAIGHT_PIECES_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/attend/attend_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Fills pieces in order: a piece may write beyond its end, where the next one overwrites it.
inline void fill_pieces(const PiecesJob& job) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto largest = hn::Set(df, largest_bias);
  const auto least = hn::Set(df, -largest_bias);
  std::int64_t begin = 0;
  for (std::int64_t p = 0; p < job.count; ++p) {
    const auto slope = hn::Set(d, job.pieces[p].slope);
    const auto offset = hn::Set(d, job.pieces[p].offset);
    const std::int64_t end = job.pieces[p].end;
    for (std::int64_t i = begin; i < end; i += lanes) {
      const auto value = hn::MulAdd(slope, hn::LoadU(d, job.terms + i), offset);
      const auto rounded = hn::DemoteTo(df, value);
      hn::StoreU(hn::Min(hn::Max(rounded, least), largest), df, job.values + i);
    }
    begin = end;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
