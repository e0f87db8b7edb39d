// SPDX-License-Identifier: Apache-2.0
// Loads and stores vectors of pairs as two float32 vectors, x of the first features and y of the
// second: what differs between pairings and dtypes, and nothing else. A partial vector (a capped
// tag) touches exactly its own elements. Compiled once for each instruction set
// (kernel_targets.cpp).

#if defined(ROTARY_KERNELS_PAIR_IO_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_PAIR_IO_INL_HPP
#undef ROTARY_KERNELS_PAIR_IO_INL_HPP
#else
#define ROTARY_KERNELS_PAIR_IO_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct PairVectors {
  hn::Vec<D> x;
  hn::Vec<D> y;
};

// float32 -> bf16 in the upper half of each lane, rounded to nearest even; a NaN stays a (quiet)
// NaN. In integers, because Highway 1.0.3 demotes by truncation.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> round_to_bf16(D, hn::Vec<D> value) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd);
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
  return hn::IfThenElse(is_nan, quiet, rounded);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, float* to) {
  hn::StoreU(value, d, to);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* from) {
  const hn::RebindToUnsigned<D> du32;
  const hn::Rebind<std::uint16_t, D> du16;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du32, hn::LoadU(du16, from))));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, std::uint16_t* to) {
  const hn::RebindToSigned<D> di32;
  const hn::Rebind<std::uint16_t, D> du16;
  const auto upper = hn::ShiftRight<16>(round_to_bf16(d, value));
  hn::StoreU(hn::DemoteTo(du16, hn::BitCast(di32, upper)), du16, to);
}

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
};

// Pair i is (2i, 2i + 1).
struct Interleaved {
  template <class D>
  static HWY_INLINE PairVectors<D> load_pairs(D d, const float* head, std::int64_t pair,
                                              std::int64_t) {
    PairVectors<D> value;
    hn::LoadInterleaved2(d, head + 2 * pair, value.x, value.y);
    return value;
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, float* head, std::int64_t pair,
                                     std::int64_t) {
    hn::StoreInterleaved2(value.x, value.y, d, head + 2 * pair);
  }

  // Two bf16 are one 32-bit lane, the first feature in its lower half (little endian).
  template <class D>
  static HWY_INLINE PairVectors<D> load_pairs(D d, const std::uint16_t* head, std::int64_t pair,
                                              std::int64_t) {
    const hn::RebindToUnsigned<D> du;
    hn::Vec<decltype(du)> both;
    if constexpr (hn::MaxLanes(d) == 1) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, head + 2 * pair, sizeof(bits));
      both = hn::Set(du, bits);
    } else {
      const hn::Repartition<std::uint16_t, decltype(du)> du16;
      both = hn::BitCast(du, hn::LoadU(du16, head + 2 * pair));
    }
    return {hn::BitCast(d, hn::ShiftLeft<16>(both)),
            hn::BitCast(d, hn::And(both, hn::Set(du, 0xFFFF0000U)))};
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, std::uint16_t* head,
                                     std::int64_t pair, std::int64_t) {
    const hn::RebindToUnsigned<D> du;
    const auto both = hn::Or(hn::ShiftRight<16>(round_to_bf16(d, value.x)),
                             hn::And(round_to_bf16(d, value.y), hn::Set(du, 0xFFFF0000U)));
    if constexpr (hn::MaxLanes(d) == 1) {
      const std::uint32_t bits = hn::GetLane(both);
      std::memcpy(head + 2 * pair, &bits, sizeof(bits));
    } else {
      const hn::Repartition<std::uint16_t, decltype(du)> du16;
      hn::StoreU(hn::BitCast(du16, both), du16, head + 2 * pair);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
