// SPDX-License-Identifier: Apache-2.0
// Rotates pairs: x' = x c - y s, y' = x s + y c. RoFormer (arXiv 2104.09864) eq. 34. In
// double for f64 elements, in float32 for all others, rounded once or after each operation.
//
// The loop order follows memory. Where the heads of a token lie together ([T,H,D]) the row's
// vectors stay in registers over all heads of the token; where the tokens of a head do ([H,T,D]) a
// block of tokens is done head by head, so its rows stay in the first-level cache. Either way each
// pair sees the same operations, tails included (shorter vectors, not scalar code), so the bits do
// not depend on layout, batch or split. From and To say which features of a head a pair is read
// from and written to (pair_io-inl.hpp). Compiled once for each instruction set
// (kernel_targets.cpp).

#if defined(ROTARY_KERNELS_ROTATE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ROTATE_INL_HPP
#undef ROTARY_KERNELS_ROTATE_INL_HPP
#else
#define ROTARY_KERNELS_ROTATE_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"
#include "kernels/pair_io-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Heads of one token: what varies inside a row. Passed by value, because a compiler must otherwise
// assume that storing a result changes it.
template <class T>
struct TokenHeads {
  const T* src;
  T* dst;
  std::int64_t src_head_stride;
  std::int64_t dst_head_stride;
  std::int64_t heads;
  std::int64_t pairs;
};

// The row of one token and the direction that it is used in.
template <class Real>
struct Row {
  const Real* cos;
  const Real* sin;
  Real cos_scale;
  Real sin_scale;
};

// gcc 12 otherwise loads each vector twice, once for each product: 25 % slower where the data are
// in L2.
template <class V>
HWY_INLINE void keep_in_register([[maybe_unused]] V& value) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  asm("" : "+v"(value.raw));
#endif
}

// x' and y', to be rounded when they are stored.
template <class T>
struct Turn {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE PairVectors<D> of(D, V x, V y, V cos, V sin) {
    return {hn::NegMulAdd(y, sin, hn::Mul(x, cos)), hn::MulAdd(x, sin, hn::Mul(y, cos))};
  }
};

// A product of two T in float32 is exact for bf16 (16 bits) and f16 (22 bits), so each is rounded
// once; the sum is rounded to float32, and then on store, as float32 hardware does it for T.
template <class T>
struct Turn<EveryStep<T>> {
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE PairVectors<D> of(D d, V x, V y, V cos, V sin) {
    const auto product = [d](V a, V b) { return rounded(d, hn::Mul(a, b), T{}); };
    return {hn::Sub(product(x, cos), product(y, sin)), hn::Add(product(y, cos), product(x, sin))};
  }
};

// Pairs [pair, pair + Vectors * Lanes(d)) of every head of one token.
template <class From, class To, std::size_t Vectors, class D, class T>
HWY_INLINE void rotate_vectors(D d, Row<RealOf<T>> row, TokenHeads<T> token, std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  hn::Vec<D> cos[Vectors];
  hn::Vec<D> sin[Vectors];
  for (std::size_t v = 0; v < Vectors; ++v) {
    const std::int64_t at = pair + static_cast<std::int64_t>(v) * lanes;
    cos[v] = hn::Mul(hn::LoadU(d, row.cos + at), hn::Set(d, row.cos_scale));
    sin[v] = hn::Mul(hn::LoadU(d, row.sin + at), hn::Set(d, row.sin_scale));
  }
  const T* src = token.src;
  T* dst = token.dst;
  for (std::int64_t head = 0; head < token.heads; ++head) {
    // All loads of a head before its first store: 10 % faster than one pair of vectors at a time.
    PairVectors<D> in[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) {
      in[v] = From::load_pairs(d, src, pair + static_cast<std::int64_t>(v) * lanes, token.pairs);
      keep_in_register(in[v].x);
      keep_in_register(in[v].y);
    }
    for (std::size_t v = 0; v < Vectors; ++v) {
      const auto out = Turn<T>::of(d, in[v].x, in[v].y, cos[v], sin[v]);
      To::store_pairs(d, out, dst, pair + static_cast<std::int64_t>(v) * lanes, token.pairs);
    }
    src += token.src_head_stride;
    dst += token.dst_head_stride;
  }
}

// The pairs that are left, fewer than 2 * Lanes(d): at most one vector of each halved length.
template <class From, class To, class D, class T>
HWY_INLINE void rotate_tail(D d, Row<RealOf<T>> row, TokenHeads<T> token, std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  if (token.pairs - pair >= lanes) {
    rotate_vectors<From, To, 1>(d, row, token, pair);
    pair += lanes;
  }
  if constexpr (lanes > 1) {
    if (pair < token.pairs) rotate_tail<From, To>(hn::Half<D>(), row, token, pair);
  }
}

// Pairs [pair, …) once fewer than four vectors are left. Not inlined: it would take registers from
// the loop that matters.
template <class From, class To, class T>
HWY_NOINLINE void rotate_rest(Row<RealOf<T>> row, TokenHeads<T> token, std::int64_t pair) {
  const hn::ScalableTag<RealOf<T>> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (; token.pairs - pair >= 2 * lanes; pair += lanes) {
    rotate_vectors<From, To, 1>(d, row, token, pair);
  }
  rotate_tail<From, To>(d, row, token, pair);
}

template <class From, class To, class T>
HWY_INLINE void rotate_token(Row<RealOf<T>> row, TokenHeads<T> token) {
  const hn::ScalableTag<RealOf<T>> d;
  constexpr std::size_t vectors = 4;  // eight registers of cos and sin
  constexpr auto step = static_cast<std::int64_t>(vectors * hn::MaxLanes(d));
  std::int64_t pair = 0;
  for (; token.pairs - pair >= step; pair += step) {
    rotate_vectors<From, To, vectors>(d, row, token, pair);
  }
  if (pair < token.pairs) rotate_rest<From, To>(row, token, pair);
}

// The job by value: a store could otherwise change it, as far as a compiler knows.
template <class From, class To, class T>
HWY_INLINE void rotate_all(const RotateJob job) {
  using Real = RealOf<T>;
  const auto* const src = static_cast<const T*>(job.src);
  auto* const dst = static_cast<T*>(job.dst);
  const auto* const rows = static_cast<const Real*>(job.rows);
  const bool heads_lie_together = std::abs(job.dst_head_stride) <= std::abs(job.dst_token_stride);
  const std::int64_t tokens_at_once = heads_lie_together ? 1 : 16;
  const std::int64_t heads_at_once = heads_lie_together ? job.heads : 1;
  for (std::int64_t begin = 0; begin < job.tokens; begin += tokens_at_once) {
    const std::int64_t end = std::min(begin + tokens_at_once, job.tokens);
    for (std::int64_t head = 0; head < job.heads; head += heads_at_once) {
      for (std::int64_t t = begin; t < end; ++t) {
        const Real* const cos = rows + t * job.row_stride;
        rotate_token<From, To, T>(
            {.cos = cos,
             .sin = cos + job.lane_stride,
             .cos_scale = static_cast<Real>(job.cos_scale),
             .sin_scale = static_cast<Real>(job.sin_scale)},
            {.src = src + t * job.src_token_stride + head * job.src_head_stride,
             .dst = dst + t * job.dst_token_stride + head * job.dst_head_stride,
             .src_head_stride = job.src_head_stride,
             .dst_head_stride = job.dst_head_stride,
             .heads = heads_at_once,
             .pairs = job.pairs});
      }
    }
  }
}

template <class From, class To, class T>
void rotate(const RotateJob& job) {
  rotate_all<From, To, T>(job);
}

template <class From, class To>
constexpr RotateKernels rotate_kernels{.f32 = rotate<From, To, float>,
                                       .bf16 = rotate<From, To, BFloat16>,
                                       .f16 = rotate<From, To, Float16>,
                                       .f64 = rotate<From, To, double>,
                                       .bf16_every_step = rotate<From, To, EveryStep<BFloat16>>,
                                       .f16_every_step = rotate<From, To, EveryStep<Float16>>};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
