// SPDX-License-Identifier: Apache-2.0
// Loads and stores vectors of pairs as two vectors of the type of computation, x with the first
// features and y with the second. A partial vector (a capped tag) touches exactly its own elements.

#if defined(ROTARY_KERNELS_PAIR_IO_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_PAIR_IO_INL_HPP
#undef ROTARY_KERNELS_PAIR_IO_INL_HPP
#else
#define ROTARY_KERNELS_PAIR_IO_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/elements-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct PairVectors {
  hn::Vec<D> x;
  hn::Vec<D> y;
};

// Pair i is (i, i + pairs).
struct Half {
  template <class D, class T>
  static HWY_INLINE PairVectors<D> load_pairs(D d, const T* head, std::int64_t pair,
                                              std::int64_t pairs) {
    return {load(d, head + pair), load(d, head + pairs + pair)};
  }

  template <class D, class T>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, T* head, std::int64_t pair,
                                     std::int64_t pairs) {
    store(d, value.x, head + pair);
    store(d, value.y, head + pairs + pair);
  }

  // Stores 2 * Lanes(d) pairs.
  template <class D, class T>
  static HWY_INLINE void store_two(D d, const PairVectors<D>* two, T* head, std::int64_t pair,
                                   std::int64_t pairs) {
    store_vectors(d, two[0].x, two[1].x, head + pair);
    store_vectors(d, two[0].y, two[1].y, head + pairs + pair);
  }
};

// Pair i is (2i, 2i + 1).
struct Interleaved {
  template <class D>
  static HWY_INLINE PairVectors<D> load_pairs(D d, const hn::TFromD<D>* head, std::int64_t pair,
                                              std::int64_t) {
    PairVectors<D> value;
    hn::LoadInterleaved2(d, head + 2 * pair, value.x, value.y);
    return value;
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, hn::TFromD<D>* head,
                                     std::int64_t pair, std::int64_t) {
    // gcc 12 for arm64 never finishes Highway's interleaved store of one double.
    if constexpr (hn::MaxLanes(d) == 1) {
      hn::StoreU(value.x, d, head + 2 * pair);
      hn::StoreU(value.y, d, head + 2 * pair + 1);
    } else {
      hn::StoreInterleaved2(value.x, value.y, d, head + 2 * pair);
    }
  }

  template <class D>
  static HWY_INLINE PairVectors<D> load_pairs(D d, const BFloat16* head, std::int64_t pair,
                                              std::int64_t) {
    const hn::RebindToUnsigned<D> du;
    const auto both = load_both(du, head + 2 * pair);
    return {hn::BitCast(d, hn::ShiftLeft<16>(both)),
            hn::BitCast(d, hn::And(both, hn::Set(du, 0xFFFF0000U)))};
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, BFloat16* head, std::int64_t pair,
                                     std::int64_t) {
    const hn::RebindToUnsigned<D> du;
    const auto both = hn::Or(hn::ShiftRight<16>(round_to_bf16(d, value.x)),
                             hn::And(round_to_bf16(d, value.y), hn::Set(du, 0xFFFF0000U)));
    store_both(du, both, head + 2 * pair);
  }

#if ROTARY_AVX512
  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, HardwareBFloat16* head,
                                     std::int64_t pair, std::int64_t) {
    const hn::RebindToUnsigned<D> du;
    if constexpr (hn::MaxLanes(d) == 16) {
      store_both(du, hardware_bf16_pairs(value.x, value.y), head + 2 * pair);
    } else {
      const auto first = hn::PromoteTo(du, round_to_hardware_bf16(d, value.x));
      const auto second = hn::PromoteTo(du, round_to_hardware_bf16(d, value.y));
      store_both(du, hn::Or(first, hn::ShiftLeft<16>(second)), head + 2 * pair);
    }
  }
#endif

  template <class D>
  static HWY_INLINE PairVectors<D> load_pairs(D d, const Float16* head, std::int64_t pair,
                                              std::int64_t) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const HalfWidth<D> du16;
    const auto both = load_both(du, head + 2 * pair);
    const auto first = hn::And(both, hn::Set(du, 0xFFFF));
    const auto second = hn::ShiftRight<16>(both);
    return {widen_f16(d, hn::DemoteTo(du16, hn::BitCast(di, first))),
            widen_f16(d, hn::DemoteTo(du16, hn::BitCast(di, second)))};
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, Float16* head, std::int64_t pair,
                                     std::int64_t) {
    const hn::RebindToUnsigned<D> du;
    const auto first = hn::PromoteTo(du, round_to_f16(d, value.x));
    const auto second = hn::PromoteTo(du, round_to_f16(d, value.y));
    store_both(du, hn::Or(first, hn::ShiftLeft<16>(second)), head + 2 * pair);
  }

  template <class D, class T>
  static HWY_INLINE void store_two(D d, const PairVectors<D>* two, T* head, std::int64_t pair,
                                   std::int64_t pairs) {
    constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
    store_pairs(d, two[0], head, pair, pairs);
    store_pairs(d, two[1], head, pair + lanes, pairs);
  }

 private:
  // Two 16-bit elements are one 32-bit lane, the first in its lower half (little endian).
  template <class DU, class T>
  static HWY_INLINE hn::Vec<DU> load_both(DU du, const T* from) {
    if constexpr (hn::MaxLanes(du) == 1) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, from, sizeof(bits));
      return hn::Set(du, bits);
    } else {
      const hn::Repartition<std::uint16_t, DU> du16;
      return hn::BitCast(du, hn::LoadU(du16, reinterpret_cast<const std::uint16_t*>(from)));
    }
  }

  template <class DU, class T>
  static HWY_INLINE void store_both(DU du, hn::Vec<DU> both, T* to) {
    if constexpr (hn::MaxLanes(du) == 1) {
      const std::uint32_t bits = hn::GetLane(both);
      std::memcpy(to, &bits, sizeof(bits));
    } else {
      const hn::Repartition<std::uint16_t, DU> du16;
      hn::StoreU(hn::BitCast(du16, both), du16, reinterpret_cast<std::uint16_t*>(to));
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
