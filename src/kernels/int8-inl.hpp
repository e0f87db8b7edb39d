// SPDX-License-Identifier: Apache-2.0
// Quantizes heads, and rotates quantized heads in place. The rotation x' = x c - y s, y' = x s + y
// c uses the int8 elements themselves, in float32, because a head has a single scale. Each head is
// processed twice: to find its largest |x'| and to store it. Recomputing the products is cheaper
// than keeping them, and a head may have any size. Adding 1.5 * 2^23 rounds to nearest even on
// every machine. A partial vector (a capped tag) touches exactly its own elements. Compiled once
// for each instruction set (int8_table.cpp).

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

#include "kernels/elements-inl.hpp"
#include "kernels/int8_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest element after rotation.
constexpr float int8_most = 127;

template <class D>
using Int8Of = hn::Rebind<std::int8_t, D>;
template <class D>
using Int16Of = hn::Rebind<std::int16_t, D>;
template <class D>
using Int32Of = hn::RebindToSigned<D>;

// The nearest integers. Requires |value| <= 2^22.
template <class D>
HWY_INLINE hn::Vec<Int32Of<D>> nearest(D d, hn::Vec<D> value) {
  const Int32Of<D> di;
  const auto magic = hn::Set(d, 0x1.8p23F);
  return hn::Sub(hn::BitCast(di, hn::Add(value, magic)), hn::BitCast(di, magic));
}

template <class D>
HWY_INLINE void store_int8(D d, hn::Vec<D> value, std::int8_t* to) {
  hn::StoreU(hn::DemoteTo(Int8Of<D>(), nearest(d, value)), Int8Of<D>(), to);
}

template <class D>
struct Int8Pairs {
  hn::Vec<D> x;
  hn::Vec<D> y;
};

// Pair i is (i, i + pairs).
struct Int8Half {
  template <class D>
  static HWY_INLINE Int8Pairs<D> load_pairs(D d, const std::int8_t* head, std::int64_t pair,
                                            std::int64_t pairs) {
    return {load(d, head + pair), load(d, head + pairs + pair)};
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, Int8Pairs<D> value, std::int8_t* head, std::int64_t pair,
                                     std::int64_t pairs) {
    store_int8(d, value.x, head + pair);
    store_int8(d, value.y, head + pairs + pair);
  }
};

// Pair i is (2i, 2i + 1): one 16-bit lane, the first in its lower half (little endian).
struct Int8Interleaved {
  template <class D>
  static HWY_INLINE Int8Pairs<D> load_pairs(D d, const std::int8_t* head, std::int64_t pair,
                                            std::int64_t) {
    const Int32Of<D> di;
    const auto both = hn::PromoteTo(di, load_both(Int16Of<D>(), head + 2 * pair));
    return {hn::ConvertTo(d, hn::ShiftRight<24>(hn::ShiftLeft<24>(both))),
            hn::ConvertTo(d, hn::ShiftRight<8>(both))};
  }

  template <class D>
  static HWY_INLINE void store_pairs(D d, Int8Pairs<D> value, std::int8_t* head, std::int64_t pair,
                                     std::int64_t) {
    const Int32Of<D> di;
    const auto lower = hn::And(nearest(d, value.x), hn::Set(di, 0xFF));
    const auto both = hn::Or(lower, hn::ShiftLeft<8>(nearest(d, value.y)));
    store_both(Int16Of<D>(), hn::DemoteTo(Int16Of<D>(), both), head + 2 * pair);
  }

 private:
  // An int8 may be at an odd address.
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
HWY_INLINE Int8Pairs<D> turned(D d, const Int8Turn turn, std::int64_t pair) {
  const auto in = Order::load_pairs(d, turn.head, pair, turn.pairs);
  const auto cos = hn::LoadU(d, turn.cos + pair);
  const auto sin = hn::LoadU(d, turn.sin + pair);
  return {hn::NegMulAdd(in.y, sin, hn::Mul(in.x, cos)), hn::MulAdd(in.x, sin, hn::Mul(in.y, cos))};
}

// The largest |x'| or |y'| of pairs [pair, …).
template <class Order, class D>
HWY_INLINE float largest_turned(D d, const Int8Turn turn, std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  auto most = hn::Zero(d);
  for (; turn.pairs - pair >= lanes; pair += lanes) {
    const auto out = turned<Order>(d, turn, pair);
    most = hn::Max(most, hn::Max(hn::Abs(out.x), hn::Abs(out.y)));
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  if constexpr (lanes > 1) {
    if (pair < turn.pairs) {
      largest = std::max(largest, largest_turned<Order>(hn::Half<D>(), turn, pair));
    }
  }
  return largest;
}

template <class Order, class D>
HWY_INLINE void store_turned(D d, const Int8Turn turn, float by, std::int64_t pair) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto factor = hn::Set(d, by);
  for (; turn.pairs - pair >= lanes; pair += lanes) {
    const auto out = turned<Order>(d, turn, pair);
    Order::store_pairs(d, Int8Pairs<D>{hn::Mul(out.x, factor), hn::Mul(out.y, factor)}, turn.head,
                       pair, turn.pairs);
  }
  if constexpr (lanes > 1) {
    if (pair < turn.pairs) store_turned<Order>(hn::Half<D>(), turn, by, pair);
  }
}

// The largest magnitude of features that are not rotated.
template <class D>
HWY_INLINE float largest_of(D d, const std::int8_t* features, std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  auto most = hn::Zero(d);
  std::int64_t at = 0;
  for (; count - at >= lanes; at += lanes) {
    most = hn::Max(most, hn::Abs(load(d, features + at)));
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  if constexpr (lanes > 1) {
    if (at < count)
      largest = std::max(largest, largest_of(hn::Half<D>(), features + at, count - at));
  }
  return largest;
}

template <class D>
HWY_INLINE void multiply(D d, std::int8_t* features, std::int64_t count, float by) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto factor = hn::Set(d, by);
  std::int64_t at = 0;
  for (; count - at >= lanes; at += lanes) {
    store_int8(d, hn::Mul(load(d, features + at), factor), features + at);
  }
  if constexpr (lanes > 1) {
    if (at < count) multiply(hn::Half<D>(), features + at, count - at, by);
  }
}

// The features before and after the rotated ones.
struct Int8Rest {
  std::int8_t* before;
  std::int64_t before_count;
  std::int8_t* after;
  std::int64_t after_count;
};

// Not inlined: most heads have no such features.
HWY_NOINLINE float largest_of_rest(const Int8Rest rest) {
  const hn::ScalableTag<float> d;
  return std::max(largest_of(d, rest.before, rest.before_count),
                  largest_of(d, rest.after, rest.after_count));
}

HWY_NOINLINE void multiply_rest(const Int8Rest rest, float by) {
  const hn::ScalableTag<float> d;
  multiply(d, rest.before, rest.before_count, by);
  multiply(d, rest.after, rest.after_count, by);
}

// first: the first block of the head.
template <class Order>
HWY_INLINE void shift_head(const Int8Turn first, std::int64_t blocks, const Int8Rest rest,
                           float* scale) {
  const hn::ScalableTag<float> d;
  const bool all_turn = rest.before_count == 0 && rest.after_count == 0;
  float largest = largest_turned<Order>(d, first, 0);
  Int8Turn turn = first;
  for (std::int64_t block = 1; block < blocks; ++block) {
    turn = turn.next();
    largest = std::max(largest, largest_turned<Order>(d, turn, 0));
  }
  if (!all_turn) largest = std::max(largest, largest_of_rest(rest));
  *scale *= largest / int8_most;
  if (largest == 0) return;
  const float by = int8_most / largest;
  turn = first;
  for (std::int64_t block = 0; block < blocks; ++block, turn = turn.next())
    store_turned<Order>(d, turn, by, 0);
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
template <class D>
HWY_INLINE std::int32_t largest_magnitude(D d, const float* from, std::int64_t at,
                                          std::int64_t count) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const Int32Of<D> di;
  auto most = hn::Zero(di);
  for (; count - at >= lanes; at += lanes)
    most = hn::Max(most, hn::BitCast(di, hn::Abs(hn::LoadU(d, from + at))));
  std::int32_t largest = hn::GetLane(hn::MaxOfLanes(di, most));
  if constexpr (lanes > 1) {
    if (at < count) largest = std::max(largest, largest_magnitude(hn::Half<D>(), from, at, count));
  }
  return largest;
}

// Stores a head that cannot be scaled: all below least_quantized, or some not finite.
HWY_INLINE void store_zeros(const QuantizeJob& job, float scale) {
  std::fill_n(job.to, job.features, std::int8_t{0});
  *job.scale = scale;
}

void quantize(const QuantizeJob& given) {
  const QuantizeJob job = given;
  const hn::ScalableTag<float> d;
  const auto largest = std::bit_cast<float>(largest_magnitude(d, job.from, 0, job.features));
  if (!(largest <= std::numeric_limits<float>::max()))
    return store_zeros(job, std::numeric_limits<float>::quiet_NaN());
  if (largest < least_quantized) return store_zeros(job, 0);
  *job.scale = largest / int8_most;
  const float by = int8_most / largest;
  for_each_vector(d, 0, job.features, [job, by](auto part, std::int64_t f) HWY_ATTR {
    const auto steps = hn::Mul(hn::LoadU(part, job.from + f), hn::Set(part, by));
    store_int8(part, steps, job.to + f);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
