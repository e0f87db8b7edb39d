// SPDX-License-Identifier: Apache-2.0
// Walks a run of elements by vectors. Tails are shorter vectors of the same operations, so that a
// result depends on the elements and their number alone. Compiled once for each instruction set.

#if defined(ROTARY_KERNELS_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_VECTORS_INL_HPP
#undef ROTARY_KERNELS_VECTORS_INL_HPP
#else
#define ROTARY_KERNELS_VECTORS_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls visit(d, i) for elements [i, i + Lanes(d)), from element `at` on: whole vectors, then at
// most one of each halved length.
template <class D, class Visit>
HWY_INLINE void for_each_vector(D d, std::int64_t at, std::int64_t count, const Visit& visit) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (; count - at >= lanes; at += lanes) visit(d, at);
  if constexpr (lanes > 1) {
    if (at < count) for_each_vector(hn::Half<D>(), at, count, visit);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
