// SPDX-License-Identifier: Apache-2.0
// Biases given by a formula of the distance (KERPLE).

#if defined(ROTARY_KERNELS_DISTANCE_FORMULAS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_DISTANCE_FORMULAS_INL_HPP
#undef ROTARY_KERNELS_DISTANCE_FORMULAS_INL_HPP
#else
#define ROTARY_KERNELS_DISTANCE_FORMULAS_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/attend/attend_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// first, first + 1, ... Each number is rounded once, so its bits do not depend on `first`.
template <class D>
hn::Vec<D> integers_from(D d, std::int64_t first) {
  constexpr std::int64_t exact = std::int64_t{1} << 52;
  if (HWY_LIKELY(first >= -exact && first < exact)) return hn::Iota(d, static_cast<double>(first));
  alignas(64) std::array<double, hn::MaxLanes(d)> numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<double>(first + static_cast<std::int64_t>(i));
  return hn::Load(d, numbers.data());
}

// Writes job.factor * formula(d, |distance|) for each distance, clamped to largest_bias.
template <class Formula>
void fill_formula(const DistanceFormulaJob& job, Formula formula) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto factor = hn::Set(d, job.factor);
  const auto largest = hn::Set(df, largest_bias);
  const auto least = hn::Set(df, -largest_bias);
  for (std::int64_t i = 0; i < job.count; i += lanes) {
    const auto distances = hn::Abs(integers_from(d, job.first + i));
    const auto biases = hn::DemoteTo(df, hn::Mul(factor, formula(d, distances)));
    hn::StoreU(hn::Min(hn::Max(biases, least), largest), df, job.values + i);
  }
}

inline void fill_logarithms(const DistanceFormulaJob& job) {
  fill_formula(job, [&](auto d, auto distances) HWY_ATTR {
    return hn::Log1p(d, hn::Mul(hn::Set(d, job.inner), distances));
  });
}

// The error of Log is multiplied by inner * ln(distance), at most 2 * ln(2^63) = 87.
inline void fill_powers(const DistanceFormulaJob& job) {
  fill_formula(job, [&](auto d, auto distances) HWY_ATTR {
    const auto power = hn::Exp(d, hn::Mul(hn::Set(d, job.inner), hn::Log(d, distances)));
    return hn::IfThenElseZero(hn::Ne(distances, hn::Zero(d)), power);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
