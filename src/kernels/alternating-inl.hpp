// SPDX-License-Identifier: Apache-2.0
// Rotates bf16 on machines that narrow to bf16 with integer instructions. A 32-bit lane holds two
// elements. For pairs (2i, 2i + 1) they form a pair. For pairs (i, i + d/2) each load is split into
// a vector of even elements and a vector of odd elements. Widening and narrowing then take two
// instructions each, instead of four in the order of elements. The operations on a pair are those
// of Turn, so the bits are the same.

#if defined(ROTARY_KERNELS_ALTERNATING_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ALTERNATING_INL_HPP
#undef ROTARY_KERNELS_ALTERNATING_INL_HPP
#else
#define ROTARY_KERNELS_ALTERNATING_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/turn-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr bool narrows_by_integers =
    HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && !ROTARY_AVX512;

template <class From, class To, class T, class Out>
inline constexpr bool alternates =
    std::conjunction_v<std::bool_constant<narrows_by_integers>, std::is_same<From, Half>,
                       std::is_same<To, Half>, std::is_base_of<BFloat16, T>, std::is_same<T, Out>>;

#if HWY_TARGET != HWY_SCALAR

template <class D>
struct TwoVectors {
  hn::Vec<D> even;
  hn::Vec<D> odd;
};

template <class D>
HWY_INLINE TwoVectors<D> widen_two(D d, hn::Vec<hn::RebindToUnsigned<D>> both) {
  const hn::RebindToUnsigned<D> du;
  return {hn::BitCast(d, hn::ShiftLeft<16>(both)),
          hn::BitCast(d, hn::And(both, hn::Set(du, 0xFFFF0000U)))};
}

// Stores rotated bf16 numbers. round_number_to_bf16() suffices, because NaN from bf16 operands and
// from invalid operations have a lower half of 0.
template <class D>
HWY_INLINE void store_alternating(D d, hn::Vec<D> even, hn::Vec<D> odd, BFloat16* to) {
  const hn::Repartition<std::uint16_t, D> du16;
  const auto low = hn::BitCast(du16, hn::ShiftRight<16>(round_number_to_bf16(d, even)));
  const auto high = hn::BitCast(du16, round_number_to_bf16(d, odd));
  hn::StoreU(hn::OddEven(high, low), du16, reinterpret_cast<std::uint16_t*>(to));
}

// Stores adjacent pairs that were bf16 before rotation.
struct TurnedNeighbours : Interleaved {
  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, BFloat16* head, std::int64_t pair,
                                     std::int64_t pairs) {
    if constexpr (hn::MaxLanes(d) == 1) {
      Interleaved::store_pairs(d, value, head, pair, pairs);
    } else {
      store_alternating(d, value.x, value.y, head + 2 * pair);
    }
  }

  template <class D>
  static HWY_INLINE void store_two(D d, const PairVectors<D>* two, BFloat16* head,
                                   std::int64_t pair, std::int64_t pairs) {
    store_pairs(d, two[0], head, pair, pairs);
    store_pairs(d, two[1], head, pair + static_cast<std::int64_t>(hn::MaxLanes(d)), pairs);
  }
};

// Rotates pairs [pair, pair + 4 * Lanes(d)) of every head of one token.
template <class D, class T>
HWY_INLINE void rotate_alternating(D d, Row<float> row, TokenHeads<T, T> token, std::int64_t pair) {
  constexpr std::int64_t step = 2 * hn::MaxLanes(d);
  const hn::RebindToUnsigned<D> du;
  const hn::Repartition<std::uint16_t, D> du16;
  const auto load_both = [du, du16](const T* from) HWY_ATTR {
    auto both = hn::BitCast(du, hn::LoadU(du16, reinterpret_cast<const std::uint16_t*>(from)));
    keep_in_register(both);
    return both;
  };
  TwoVectors<D> cos[2];
  TwoVectors<D> sin[2];
  for (std::size_t v = 0; v < 2; ++v) {
    const std::int64_t at = pair + static_cast<std::int64_t>(v) * step;
    hn::LoadInterleaved2(d, row.cos + at, cos[v].even, cos[v].odd);
    hn::LoadInterleaved2(d, row.sin + at, sin[v].even, sin[v].odd);
    const auto scale = [d](TwoVectors<D>& two, float factor) HWY_ATTR {
      two = {hn::Mul(two.even, hn::Set(d, factor)), hn::Mul(two.odd, hn::Set(d, factor))};
    };
    scale(cos[v], row.cos_scale);
    scale(sin[v], row.sin_scale);
  }
  const T* src = token.src + pair;
  T* dst = token.dst + pair;
  for (std::int64_t head = 0; head < token.heads; ++head) {
    const hn::Vec<decltype(du)> in[4] = {load_both(src), load_both(src + step),
                                         load_both(src + token.pairs),
                                         load_both(src + token.pairs + step)};
    for (std::size_t v = 0; v < 2; ++v) {
      const auto x = widen_two(d, in[v]);
      const auto y = widen_two(d, in[v + 2]);
      const auto even = Turn<T>::of(d, x.even, y.even, cos[v].even, sin[v].even);
      const auto odd = Turn<T>::of(d, x.odd, y.odd, cos[v].odd, sin[v].odd);
      T* const to = dst + static_cast<std::int64_t>(v) * step;
      store_alternating(d, even.x, odd.x, to);
      store_alternating(d, even.y, odd.y, to + token.pairs);
    }
    src += token.src_head_stride;
    dst += token.dst_head_stride;
  }
}

#else
using TurnedNeighbours = Interleaved;
#endif

// The class that stores rotated bf16: To, or its faster variant.
template <class To>
using TurnedTo = std::conditional_t<narrows_by_integers && std::is_same_v<To, Interleaved>,
                                    TurnedNeighbours, To>;

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
