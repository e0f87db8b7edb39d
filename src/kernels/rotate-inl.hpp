// SPDX-License-Identifier: Apache-2.0
// Rotates pairs: x' = x c - y s, y' = x s + y c (RoFormer, arXiv 2104.09864, eq. 34). Computes in
// double for f64 elements, in float32 for all others. Rounds once, or after each operation.
//
// The loop order follows memory. If a token's heads are adjacent ([T,H,D]) in src or dst, its cos
// and sin stay in registers for several or all heads. If a head's tokens are adjacent ([H,T,D]),
// the loop takes a few heads at a time and processes a block of their tokens. A token's cos and sin
// then stay in registers for these few heads. In both cases the operations on a pair are the same,
// also in tails (shorter vectors, not scalar code). Bits thus do not depend on layout, batch or
// split. From is the order of features in src, To the order in dst (pair_io-inl.hpp).

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
#include <cstdlib>
#include <type_traits>

#include "kernels/alternating-inl.hpp"
#include "kernels/fetch-inl.hpp"
#include "kernels/kernels.hpp"
#include "kernels/pair_io-inl.hpp"
#include "kernels/turn-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rotates pairs [pair, pair + Vectors * Lanes(d)) of every head of one token; Vectors is 1 or even.
template <class From, class To, std::size_t Vectors, class D, class T, class Out>
HWY_INLINE void rotate_vectors(D d, Row<RealOf<T>> row, TokenHeads<T, Out> token,
                               std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  hn::Vec<D> cos[Vectors];
  hn::Vec<D> sin[Vectors];
  for (std::size_t v = 0; v < Vectors; ++v) {
    const std::int64_t at = pair + static_cast<std::int64_t>(v) * lanes;
    cos[v] = hn::Mul(hn::LoadU(d, row.cos + at), hn::Set(d, row.cos_scale));
    sin[v] = hn::Mul(hn::LoadU(d, row.sin + at), hn::Set(d, row.sin_scale));
  }
  const T* src = token.src;
  Out* dst = token.dst;
  for (std::int64_t head = 0; head < token.heads; ++head) {
    // Loads all of a head before the first store: 10 % faster than one pair of vectors at a time.
    PairVectors<D> in[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) {
      in[v] = From::load_pairs(d, src, pair + static_cast<std::int64_t>(v) * lanes, token.pairs);
      keep_in_register(in[v].x);
      keep_in_register(in[v].y);
    }
    constexpr std::size_t at_once = Vectors == 1 ? 1 : 2;
    for (std::size_t v = 0; v < Vectors; v += at_once) {
      const std::int64_t at = pair + static_cast<std::int64_t>(v) * lanes;
      PairVectors<D> out[at_once];
      for (std::size_t i = 0; i < at_once; ++i) {
        out[i] = Turn<T>::of(d, in[v + i].x, in[v + i].y, cos[v + i], sin[v + i]);
      }
      if constexpr (at_once == 1) {
        To::store_pairs(d, out[0], dst, at, token.pairs);
      } else {
        To::store_two(d, out, dst, at, token.pairs);
      }
    }
    src += token.src_head_stride;
    dst += token.dst_head_stride;
  }
}

// Rotates the last pairs, fewer than 2 * Lanes(d), by at most one vector of each halved length.
template <class From, class To, class D, class T, class Out>
HWY_INLINE void rotate_tail(D d, Row<RealOf<T>> row, TokenHeads<T, Out> token, std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  if (token.pairs - pair >= lanes) {
    rotate_vectors<From, To, 1>(d, row, token, pair);
    pair += lanes;
  }
  if constexpr (lanes > 1) {
    if (pair < token.pairs) rotate_tail<From, To>(hn::Half<D>(), row, token, pair);
  }
}

// Rotates pairs [pair, …) when fewer than four vectors are left. Not inlined, because it would take
// registers from the main loop.
template <class From, class To, class T, class Out>
HWY_NOINLINE void rotate_rest(Row<RealOf<T>> row, TokenHeads<T, Out> token, std::int64_t pair) {
  const hn::ScalableTag<RealOf<T>> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (; token.pairs - pair >= 2 * lanes; pair += 2 * lanes) {
    rotate_vectors<From, To, 2>(d, row, token, pair);
  }
  rotate_tail<From, To>(d, row, token, pair);
}

// True if pairs stay interleaved while rotated, as (x, y) c + (y, x) (-s, s): one shuffle instead
// of four. The operations on a pair, and thus its bits, are those of Turn.
template <class From, class To, class T>
inline constexpr bool rotates_neighbours =
    HWY_TARGET !=
        HWY_SCALAR&& std::is_same_v<From, Interleaved>&& std::is_same_v<To, Interleaved> &&
    (std::is_same_v<T, float> || std::is_same_v<T, Float16>);

#if HWY_TARGET != HWY_SCALAR

// Loads each number twice, side by side.
template <class D>
HWY_INLINE hn::Vec<D> load_twice(D d, const float* from) {
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> du64;
  const hn::Rebind<float, decltype(du64)> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  const auto number = hn::PromoteTo(du64, hn::BitCast(du, hn::LoadU(df, from)));
  return hn::BitCast(d, hn::Or(number, hn::ShiftLeft<32>(number)));
}

// Rotates pairs [pair, pair + Vectors * Lanes(d) / 2) of every head of one token.
template <std::size_t Vectors, class D, class T, class Out>
HWY_INLINE void rotate_neighbours(D d, Row<float> row, TokenHeads<T, Out> token,
                                  std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> du64;
  const auto sign_of_first = hn::BitCast(d, hn::Set(du64, std::uint64_t{0x80000000}));
  hn::Vec<D> cos[Vectors];
  hn::Vec<D> sin[Vectors];
  for (std::size_t v = 0; v < Vectors; ++v) {
    const std::int64_t at = pair + static_cast<std::int64_t>(v) * (lanes / 2);
    cos[v] = hn::Mul(load_twice(d, row.cos + at), hn::Set(d, row.cos_scale));
    sin[v] = hn::Mul(load_twice(d, row.sin + at), hn::Set(d, row.sin_scale));
    sin[v] = hn::Xor(sin[v], sign_of_first);
  }
  const T* src = token.src + 2 * pair;
  Out* dst = token.dst + 2 * pair;
  for (std::int64_t head = 0; head < token.heads; ++head) {
    hn::Vec<D> in[Vectors];
    for (std::size_t v = 0; v < Vectors; ++v) {
      in[v] = load(d, src + static_cast<std::int64_t>(v) * lanes);
      keep_in_register(in[v]);
    }
    for (std::size_t v = 0; v < Vectors; ++v) {
      const auto straight = hn::Mul(in[v], cos[v]);
      const auto out = hn::MulAdd(hn::Reverse2(d, in[v]), sin[v], straight);
      store(d, out, dst + static_cast<std::int64_t>(v) * lanes);
    }
    src += token.src_head_stride;
    dst += token.dst_head_stride;
  }
}

// Rotates the last pairs, fewer than Lanes(d): one vector, then at most one of each halved length.
template <class D, class T, class Out>
HWY_INLINE void rotate_last_neighbours(D d, Row<float> row, TokenHeads<T, Out> token,
                                       std::int64_t pair) {
  constexpr auto pairs_of_vector = static_cast<std::int64_t>(hn::MaxLanes(d) / 2);
  if (token.pairs - pair >= pairs_of_vector) {
    rotate_neighbours<1>(d, row, token, pair);
    pair += pairs_of_vector;
  }
  if constexpr (pairs_of_vector > 1) {
    if (pair < token.pairs) rotate_last_neighbours(hn::Half<D>(), row, token, pair);
  }
}

// Rotates pairs [pair, …) when fewer than 4 * Lanes(d) are left.
template <class T, class Out>
HWY_NOINLINE void rotate_rest_of_neighbours(Row<float> row, TokenHeads<T, Out> token,
                                            std::int64_t pair) {
  const hn::ScalableTag<float> d;
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (; token.pairs - pair >= 2 * lanes; pair += 2 * lanes) {
    rotate_neighbours<4>(d, row, token, pair);
  }
  if (token.pairs - pair >= lanes) {
    rotate_neighbours<2>(d, row, token, pair);
    pair += lanes;
  }
  if (pair < token.pairs) rotate_last_neighbours(d, row, token, pair);
}

template <class T, class Out>
HWY_INLINE void rotate_token_of_neighbours(Row<float> row, TokenHeads<T, Out> token) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t vectors = HWY_TARGET <= HWY_AVX3 ? 8 : 4;  // for 32 registers, or 16
  constexpr auto step = static_cast<std::int64_t>(vectors * hn::MaxLanes(d) / 2);
  std::int64_t pair = 0;
  for (; token.pairs - pair >= step; pair += step) {
    rotate_neighbours<vectors>(d, row, token, pair);
  }
  if (pair < token.pairs) rotate_rest_of_neighbours(row, token, pair);
}

#endif

template <class From, class To, class T, class Out>
HWY_INLINE void rotate_token(Row<RealOf<T>> row, TokenHeads<T, Out> token) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (rotates_neighbours<From, To, T>) {
    rotate_token_of_neighbours(row, token);
    return;
  } else
#endif
  {
    const hn::ScalableTag<RealOf<T>> d;
    constexpr std::size_t vectors = 4;  // eight registers of cos and sin
    constexpr auto step = static_cast<std::int64_t>(vectors * hn::MaxLanes(d));
    std::int64_t pair = 0;
    for (; token.pairs - pair >= step; pair += step) {
#if HWY_TARGET != HWY_SCALAR
      if constexpr (alternates<From, To, T, Out>) {
        rotate_alternating(d, row, token, pair);
        continue;
      }
#endif
      rotate_vectors<From, To, vectors>(d, row, token, pair);
    }
    if (pair < token.pairs) rotate_rest<From, To>(row, token, pair);
  }
}

template <class T>
HWY_INLINE Row<RealOf<T>> row_of(const RotateJob& job, std::int64_t token) {
  using Real = RealOf<T>;
  const Real* const cos = static_cast<const Real*>(job.rows) + token * job.row_stride;
  return {.cos = cos,
          .sin = cos + job.lane_stride,
          .cos_scale = static_cast<Real>(job.cos_scale),
          .sin_scale = static_cast<Real>(job.sin_scale)};
}

template <class T, class Out>
HWY_INLINE TokenHeads<T, Out> heads_of(const RotateJob& job, std::int64_t token,
                                       std::int64_t head) {
  return {
      .src = static_cast<const T*>(job.src) + token * job.src_token_stride +
             head * job.src_head_stride,
      .dst = static_cast<Out*>(job.dst) + token * job.dst_token_stride + head * job.dst_head_stride,
      .src_head_stride = job.src_head_stride,
      .dst_head_stride = job.dst_head_stride,
      .heads = job.heads,
      .pairs = job.pairs};
}

// Prefetches heads [begin, end) of a token, which may be the token after the last.
template <class T>
HWY_INLINE void fetch_heads(const RotateJob& job, std::int64_t token, std::int64_t begin,
                            std::int64_t end) {
  const std::int64_t end_of_token = end < job.heads ? end : job.heads;
  for (std::int64_t head = begin; head < end_of_token; ++head) {
    const std::int64_t at = token * job.src_token_stride + head * job.src_head_stride;
    const auto bytes = static_cast<std::uintptr_t>(at) * sizeof(T);
    fetch_lines(static_cast<const T*>(job.src), 2 * job.pairs, bytes);
  }
}

template <class T>
HWY_INLINE std::int64_t heads_ahead(const RotateJob& job) {
  const std::int64_t of_head = 2 * job.pairs * static_cast<std::int64_t>(sizeof(T));
  return job.bytes_ahead < of_head ? 1 : job.bytes_ahead / of_head;
}

// For adjacent heads of a token, in memory larger than the caches. Rotates a few heads at a time
// and prefetches the next in memory order. A pass over all heads for each block of pairs would
// defeat the processor's own prefetching.
template <class From, class To, class T, class Out>
HWY_NOINLINE void rotate_few_heads(const RotateJob& job) {
  const std::int64_t at_once = heads_ahead<T>(job);
  for (std::int64_t t = 0; t < job.tokens; ++t) {
    for (std::int64_t head = 0; head < job.heads; head += at_once) {
      auto heads = heads_of<T, Out>(job, t, head);
      const std::int64_t left = job.heads - head;
      heads.heads = left < at_once ? left : at_once;
      if (left <= at_once) {
        fetch_heads<T>(job, t + 1, 0, at_once);
      } else {
        fetch_heads<T>(job, t, head + at_once, head + 2 * at_once);
      }
      rotate_token<From, To>(row_of<T>(job, t), heads);
    }
  }
}

// For adjacent tokens of a head. heads_at_once heads share a loaded row and form as many streams
// through memory. More streams would collide in the same sets of the L1 cache. The rows of a block
// of tokens stay in L2.
template <class From, class To, class T, class Out>
HWY_NOINLINE void rotate_by_heads(const RotateJob& job) {
  constexpr std::int64_t heads_at_once = 4;
  constexpr std::int64_t tokens_at_once = 512;
  for (std::int64_t begin = 0; begin < job.tokens; begin += tokens_at_once) {
    const std::int64_t end = std::min(begin + tokens_at_once, job.tokens);
    for (std::int64_t head = 0; head < job.heads; head += heads_at_once) {
      for (std::int64_t t = begin; t < end; ++t) {
        auto heads = heads_of<T, Out>(job, t, head);
        // Not std::min: its references make gcc 12 spill the loop's registers, which costs 60 %.
        const std::int64_t left = job.heads - head;
        heads.heads = left < heads_at_once ? left : heads_at_once;
        rotate_token<From, To>(row_of<T>(job, t), heads);
      }
    }
  }
}

// rotate_by_heads() is a separate function: in one function, both loop orders would need too many
// registers, which costs 5 ns per call.
template <class From, class To, class T, class Out = T>
void rotate(const RotateJob& job) {
  const bool heads_lie_together = job.tokens == 1 ||
                                  std::abs(job.src_head_stride) <= std::abs(job.src_token_stride) ||
                                  std::abs(job.dst_head_stride) <= std::abs(job.dst_token_stride);
  if (!heads_lie_together) {
    rotate_by_heads<From, To, T, Out>(job);
    return;
  }
  if (job.bytes_ahead > 0) {
    rotate_few_heads<From, To, T, Out>(job);
    return;
  }
  for (std::int64_t t = 0; t < job.tokens; ++t) {
    rotate_token<From, To>(row_of<T>(job, t), heads_of<T, Out>(job, t, 0));
  }
}

template <class From, class To>
constexpr RotateKernels rotate_kernels{
    .once = {.f32 = rotate<From, To, float>,
             .bf16 = rotate<From, TurnedTo<To>, BFloat16>,
             .f16 = rotate<From, To, Float16>,
             .f64 = rotate<From, To, double>},
    .every_step = {.bf16 = rotate<From, TurnedTo<To>, EveryStep<BFloat16>>,
                   .f16 = rotate<From, To, EveryStep<Float16>>,
                   .f64 = rotate<From, To, double>}};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
