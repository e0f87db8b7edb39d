// SPDX-License-Identifier: Apache-2.0
// Rounds adjacent elements to another dtype, scales them or sums their squares. Tails use shorter
// vectors with the same operations, so a result depends only on the elements and their number.

#if defined(ROTARY_KERNELS_CACHE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_CACHE_INL_HPP
#undef ROTARY_KERNELS_CACHE_INL_HPP
#else
#define ROTARY_KERNELS_CACHE_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/cache_kernels.hpp"
#include "kernels/elements-inl.hpp"
#include "kernels/rotate-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void narrow(const float* src, void* dst, std::int64_t count) {
  auto* const to = static_cast<T*>(dst);
  for_each_vector(hn::ScalableTag<float>(), 0, count, [src, to](auto d, std::int64_t i) HWY_ATTR {
    store(d, hn::LoadU(d, src + i), to + i);
  });
}

// Copies the job: otherwise the compiler must assume that a store changes it.
template <class T>
void normalize(const NormalizeJob& given) {
  const NormalizeJob job = given;
  const auto scaled = [job](auto d, std::int64_t i) HWY_ATTR {
    return hn::Mul(load(d, static_cast<const T*>(job.src) + i), hn::Set(d, job.scale));
  };
  if (job.weight == nullptr) {
    for_each_vector(hn::ScalableTag<float>(), 0, job.count,
                    [&](auto d, std::int64_t i) HWY_ATTR { store(d, scaled(d, i), job.dst + i); });
    return;
  }
  for_each_vector(hn::ScalableTag<float>(), 0, job.count, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto gain = hn::Add(hn::LoadU(d, job.weight + i), hn::Set(d, job.offset));
    store(d, hn::Mul(scaled(d, i), gain), job.dst + i);
  });
}

// The square of a float32 is exact in double.
template <class D, class T>
HWY_INLINE hn::Vec<D> squares(D d, const T* from) {
  const hn::Rebind<float, D> df;
  const auto value = hn::PromoteTo(d, load(df, from));
  return hn::Mul(value, value);
}

template <class D, class T>
HWY_INLINE double sum_of_squares_from(D d, const T* src, std::int64_t at, std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  for (; count - at >= 2 * lanes; at += 2 * lanes) {
    even = hn::Add(even, squares(d, src + at));
    odd = hn::Add(odd, squares(d, src + at + lanes));
  }
  if (count - at >= lanes) {
    even = hn::Add(even, squares(d, src + at));
    at += lanes;
  }
  const double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  if constexpr (lanes > 1) {
    if (at < count) return sum + sum_of_squares_from(hn::Half<D>(), src, at, count);
  }
  return sum;
}

template <class T>
double sum_of_squares(const void* src, std::int64_t count) {
  return sum_of_squares_from(hn::ScalableTag<double>(), static_cast<const T*>(src), 0, count);
}

template <class From, class To>
constexpr PerDType<Rotate> narrowing_rotate{.bf16 = rotate<From, To, float, BFloat16>,
                                            .f16 = rotate<From, To, float, Float16>};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
