// SPDX-License-Identifier: Apache-2.0
// The operands of a rotation, and its operation on a pair: x' = x c - y s, y' = x s + y c.

#if defined(ROTARY_KERNELS_TURN_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_TURN_INL_HPP
#undef ROTARY_KERNELS_TURN_INL_HPP
#else
#define ROTARY_KERNELS_TURN_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/pair_io-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The heads of one token, which share a row; read as T, stored as Out. Passed by value: otherwise
// the compiler must assume that a store changes it.
template <class T, class Out>
struct TokenHeads {
  const T* src;
  Out* dst;
  std::int64_t src_head_stride;
  std::int64_t dst_head_stride;
  std::int64_t heads;
  std::int64_t pairs;
};

// The row of one token, and the factors that depend on the direction (RotateJob).
template <class Real>
struct Row {
  const Real* cos;
  const Real* sin;
  Real cos_scale;
  Real sin_scale;
};

// Computes x' and y'. Storing rounds them.
template <class T>
struct Turn {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE PairVectors<D> of(D, V x, V y, V cos, V sin) {
    return {hn::NegMulAdd(y, sin, hn::Mul(x, cos)), hn::MulAdd(x, sin, hn::Mul(y, cos))};
  }
};

// A product of two T is exact in float32 for bf16 (16 bits) and f16 (22 bits), so each product is
// rounded once. The sum is rounded to float32 and again when stored, as by float32 hardware.
template <class T>
struct Turn<EveryStep<T>> {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE PairVectors<D> of(D d, V x, V y, V cos, V sin) {
    const auto product = [d](V a, V b) { return rounded(d, hn::Mul(a, b), T{}); };
    return {hn::Sub(product(x, cos), product(y, sin)), hn::Add(product(y, cos), product(x, sin))};
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
