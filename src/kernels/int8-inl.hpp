// SPDX-License-Identifier: Apache-2.0
// Quantizes heads, and rotates quantized heads in place. A head has a single scale, so the rotation
// (x' = x c - y s, y' = x s + y c) uses the int8 elements themselves, in float32. Each head is
// processed twice: to find its largest |x'| and to store it. Recomputing the products is cheaper
// than keeping them, and a head may have any size. Adding 1.5 * 2^23 rounds to nearest even on
// every machine. A partial vector (a capped tag) touches exactly its own elements.

#if defined(ROTARY_KERNELS_INT8_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_INT8_INL_HPP
#undef ROTARY_KERNELS_INT8_INL_HPP
#else
#define ROTARY_KERNELS_INT8_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/int8_kernels.hpp"
#include "kernels/turn-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest magnitude of a stored element.
constexpr float int8_most = 127;

template <class D>
using Int16Of = hn::Rebind<std::int16_t, D>;
template <class D>
using Int32Of = hn::RebindToSigned<D>;

// Pair i is (2i, 2i + 1): one 16-bit lane, the first in its lower half (little endian).
struct Int8Interleaved {
  template <class D>
  static HWY_INLINE PairVectors<D> load_pairs(D d, const std::int8_t* head, std::int64_t pair,
                                              std::int64_t) {
    const Int32Of<D> di;
    const auto both = hn::PromoteTo(di, load_both(Int16Of<D>(), head + 2 * pair));
    return {hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<24>(both))),
            hn::ConvertTo(d, hn::ShiftRight<8>(both))};
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, PairVectors<D> value, std::int8_t* head,
                                     std::int64_t pair, std::int64_t) {
    const Int32Of<D> di;
    const auto lower = hn::And(nearest(d, value.x), hn::Set(di, 0xFF));
    const auto both = hn::Or(lower, hn::ShiftLeft<8>(nearest(d, value.y)));
    store_both(Int16Of<D>(), hn::DemoteTo(Int16Of<D>(), both), head + 2 * pair);
  }

 private:
  // Loads bytes, because an int8 may be at an odd address.
  template <class DI>
  static HWY_INLINE hn::Vec<DI> load_both(DI di, const std::int8_t* from) {
    if constexpr (hn::MaxLanes(di) == 1) {
      std::int16_t bits = 0;
      std::memcpy(&bits, from, sizeof(bits));
      return hn::Set(di, bits);
    } else {
      const hn::Repartition<std::int8_t, DI> bytes;
      return hn::BitCast(di, hn::LoadU(bytes, from));
    }
  }

  template <class DI>
  static HWY_INLINE void store_both(DI di, hn::Vec<DI> both, std::int8_t* to) {
    if constexpr (hn::MaxLanes(di) == 1) {
      const std::int16_t bits = hn::GetLane(both);
      std::memcpy(to, &bits, sizeof(bits));
    } else {
      const hn::Repartition<std::int8_t, DI> bytes;
      hn::StoreU(hn::BitCast(bytes, both), bytes, to);
    }
  }
};

// The features of one block of a head, and their part of the row. Always passed by value: otherwise
// the compiler must assume that a store changes it.
struct Int8Turn {
  std::int8_t* head;
  const float* cos;
  const float* sin;
  std::int64_t pairs;

  [[nodiscard]] Int8Turn next() const {
    return {.head = head + 2 * pairs, .cos = cos + pairs, .sin = sin + pairs, .pairs = pairs};
  }
};

template <class Order, class D>
HWY_INLINE PairVectors<D> turned(D d, const Int8Turn turn, std::int64_t pair) {
  const auto in = Order::load_pairs(d, turn.head, pair, turn.pairs);
  const auto cos = hn::LoadU(d, turn.cos + pair);
  const auto sin = hn::LoadU(d, turn.sin + pair);
  return Turn<float>::of(d, in.x, in.y, cos, sin);
}

// The largest |x'| or |y'| of the pairs.
template <class Order>
HWY_INLINE float largest_turned(const Int8Turn turn) {
  return largest_value(hn::ScalableTag<float>(), 0, turn.pairs, 0.0F,
                       [turn](auto d, std::int64_t pair) HWY_ATTR {
                         const auto out = turned<Order>(d, turn, pair);
                         return hn::Max(hn::Abs(out.x), hn::Abs(out.y));
                       });
}

template <class Order>
HWY_INLINE void store_turned(const Int8Turn turn, float by) {
  for_each_vector(hn::ScalableTag<float>(), 0, turn.pairs,
                  [turn, by](auto d, std::int64_t pair) HWY_ATTR {
                    const auto factor = hn::Set(d, by);
                    auto out = turned<Order>(d, turn, pair);
                    out = {hn::Mul(out.x, factor), hn::Mul(out.y, factor)};
                    Order::store_pairs(d, out, turn.head, pair, turn.pairs);
                  });
}

// The largest magnitude of features that are not rotated.
HWY_INLINE float largest_of(const std::int8_t* features, std::int64_t count) {
  return largest_value(hn::ScalableTag<float>(), 0, count, 0.0F,
                       [features](auto d, std::int64_t i)
                           HWY_ATTR { return hn::Abs(load(d, features + i)); });
}

HWY_INLINE void multiply(std::int8_t* features, std::int64_t count, float by) {
  for_each_vector(hn::ScalableTag<float>(), 0, count,
                  [features, by](auto d, std::int64_t i) HWY_ATTR {
                    store(d, hn::Mul(load(d, features + i), hn::Set(d, by)), features + i);
                  });
}

// The features before and after the rotated ones.
struct Int8Rest {
  std::int8_t* before;
  std::int64_t before_count;
  std::int8_t* after;
  std::int64_t after_count;
};

// Not inlined: most heads have no unrotated features.
HWY_NOINLINE float largest_of_rest(const Int8Rest rest) {
  return std::max(largest_of(rest.before, rest.before_count),
                  largest_of(rest.after, rest.after_count));
}

HWY_NOINLINE void multiply_rest(const Int8Rest rest, float by) {
  multiply(rest.before, rest.before_count, by);
  multiply(rest.after, rest.after_count, by);
}

// first: the first block of the head.
template <class Order>
HWY_INLINE void shift_head(const Int8Turn first, std::int64_t blocks, const Int8Rest rest,
                           float* scale) {
  const bool all_turn = rest.before_count == 0 && rest.after_count == 0;
  float largest = largest_turned<Order>(first);
  Int8Turn turn = first;
  for (std::int64_t block = 1; block < blocks; ++block) {
    turn = turn.next();
    largest = std::max(largest, largest_turned<Order>(turn));
  }
  if (!all_turn) largest = std::max(largest, largest_of_rest(rest));
  *scale *= largest / int8_most;
  if (largest == 0) return;
  const float by = int8_most / largest;
  turn = first;
  for (std::int64_t block = 0; block < blocks; ++block, turn = turn.next())
    store_turned<Order>(turn, by);
  if (!all_turn) multiply_rest(rest, by);
}

template <class Order>
void shift_int8(const Int8Job& given) {
  const Int8Job job = given;
  const std::int64_t end = job.first_feature + 2 * job.pairs * job.blocks;
  for (std::int64_t t = 0; t < job.tokens; ++t) {
    const float* const cos = job.rows + t * job.row_stride;
    for (std::int64_t h = 0; h < job.heads; ++h) {
      std::int8_t* const head = job.data + t * job.token_stride + h * job.head_stride;
      shift_head<Order>({.head = head + job.first_feature,
                         .cos = cos,
                         .sin = cos + job.lane_stride,
                         .pairs = job.pairs},
                        job.blocks,
                        {.before = head,
                         .before_count = job.first_feature,
                         .after = head + end,
                         .after_count = job.features - end},
                        job.scales + t * job.scale_token_stride + h * job.scale_head_stride);
    }
  }
}

// The bits of the largest magnitude. The bits of magnitudes compare as the magnitudes do; Inf and
// NaN are above all numbers.
HWY_INLINE std::int32_t largest_magnitude(const float* from, std::int64_t count) {
  return largest_value(hn::ScalableTag<std::int32_t>(), 0, count, 0,
                       [from](auto di, std::int64_t i) HWY_ATTR {
                         const hn::RebindToFloat<decltype(di)> d;
                         return hn::BitCast(di, hn::Abs(hn::LoadU(d, from + i)));
                       });
}

// Stores a head that cannot be scaled: all numbers are below least_quantized, or one is not finite.
HWY_INLINE void store_zeros(const QuantizeJob& job, float scale) {
  std::fill_n(job.to, job.features, std::int8_t{0});
  *job.scale = scale;
}

void quantize(const QuantizeJob& given) {
  const QuantizeJob job = given;
  const auto largest = std::bit_cast<float>(largest_magnitude(job.from, job.features));
  if (!(largest <= std::numeric_limits<float>::max()))
    return store_zeros(job, std::numeric_limits<float>::quiet_NaN());
  if (largest < least_quantized) return store_zeros(job, 0);
  *job.scale = largest / int8_most;
  const float by = int8_most / largest;
  for_each_vector(hn::ScalableTag<float>(), 0, job.features,
                  [job, by](auto d, std::int64_t f) HWY_ATTR {
                    store(d, hn::Mul(hn::LoadU(d, job.from + f), hn::Set(d, by)), job.to + f);
                  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
