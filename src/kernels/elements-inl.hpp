// SPDX-License-Identifier: Apache-2.0
// The element types of tensors, and their conversion to and from the type of computation: double
// for f64, float32 for all others. Widening is exact; narrowing rounds once, to nearest even, and
// keeps NaN. A partial vector (a capped tag) touches exactly its own elements.

#if defined(ROTARY_KERNELS_ELEMENTS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ROTARY_KERNELS_ELEMENTS_INL_HPP
#undef ROTARY_KERNELS_ELEMENTS_INL_HPP
#else
#define ROTARY_KERNELS_ELEMENTS_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The bits of one element. Distinct types let overloads tell the 16-bit formats apart.
struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

// 1 if this target has 512-bit instructions that Highway 1.0.3 does not use.
#undef ROTARY_AVX512
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define ROTARY_AVX512 1
#else
#define ROTARY_AVX512 0
#endif

#if ROTARY_AVX512
// bf16 narrowed by AVX512_BF16, only for machines that have it (kernels.cpp). It rounds to nearest
// even and turns a subnormal float32 into a zero of its sign, whatever the thread's modes. Inline
// assembly avoids compiling everything for another target.
struct HardwareBFloat16 : BFloat16 {};
#endif

template <class T>
struct Arithmetic {
  using Real = float;
};
template <>
struct Arithmetic<double> {
  using Real = double;
};

// Elements T, rounded as by hardware that computes in T: every product is rounded to T, not only
// the stored result. Products are formed in float32 and then rounded.
template <class T>
struct EveryStep : T {};

// The type of computation for elements T, and of their cos/sin rows.
template <class T>
using RealOf = typename Arithmetic<T>::Real;

// 16 bits for each lane of a float32 tag.
template <class D>
using HalfWidth = hn::Rebind<std::uint16_t, D>;

// Rounds float32 to bf16 in the upper half of each lane. Uses integers, because Highway 1.0.3
// truncates. Requires numbers, or NaN whose lower half is 0: a carry from the lower half could turn
// another NaN into a number.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> round_number_to_bf16(D, hn::Vec<D> value) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  return hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd);
}

// As round_number_to_bf16(), but for any NaN: it becomes the one with all bits set, the cheapest.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> round_to_bf16(D d, hn::Vec<D> value) {
  const hn::RebindToUnsigned<D> du;
  const auto rounded = round_number_to_bf16(d, value);
  const auto is_nan = hn::RebindMask(du, hn::IsNaN(value));
#if ROTARY_AVX512
  return hn::IfThenElse(is_nan, hn::Set(du, 0xFFFFFFFFU), rounded);
#else
  return hn::Or(rounded, hn::VecFromMask(du, is_nan));
#endif
}

// F16C converts according to IEEE 754, whatever the thread's modes (rounding, flushing of
// subnormals). On other targets Highway 1.0.3 truncates and mishandles Inf and NaN.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)

template <class D>
HWY_INLINE hn::Vec<D> widen_f16(D d, hn::Vec<HalfWidth<D>> bits) {
  const hn::Rebind<hwy::float16_t, D> df16;
  return hn::PromoteTo(d, hn::BitCast(df16, bits));
}

template <class D>
HWY_INLINE hn::Vec<HalfWidth<D>> round_to_f16(D, hn::Vec<D> value) {
  const hn::Rebind<hwy::float16_t, D> df16;
  return hn::BitCast(HalfWidth<D>(), hn::DemoteTo(df16, value));
}

#else

// A binary16 shifted left by 13 bits is a float32 whose exponent is too small by 127 - 15, and by
// twice that for Inf and NaN. A subnormal is converted as 2^-14 + itself, then 2^-14 is subtracted.
// No intermediate float32 is subnormal, so flushing changes nothing.
template <class D>
HWY_INLINE hn::Vec<D> widen_f16(D d, hn::Vec<HalfWidth<D>> half) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::PromoteTo(du, half);
  const auto magnitude = hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7FFF)));
  const auto sign = hn::ShiftLeft<16>(hn::BitCast(di, hn::And(bits, hn::Set(du, 0x8000))));
  const auto moved = hn::ShiftLeft<13>(magnitude);
  const auto rebias = hn::Set(di, (127 - 15) << 23);
  const auto normal = hn::Add(moved, rebias);
  const auto special = hn::Add(normal, rebias);
  const auto above = hn::BitCast(d, hn::Add(normal, hn::Set(di, 1 << 23)));
  const auto subnormal = hn::BitCast(di, hn::Sub(above, hn::Set(d, 0x1p-14F)));
  const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x400)), subnormal, normal);
  const auto is_special = hn::Gt(magnitude, hn::Set(di, 0x7BFF));
  return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(is_special, special, finite)));
}

// Normal results are rounded as integers: a carry goes into the exponent and gives Inf from 65520
// on. Subnormal results are multiples of 2^-24; adding 1/2 in float32 rounds to such a multiple.
template <class D>
HWY_INLINE hn::Vec<HalfWidth<D>> round_to_f16(D d, hn::Vec<D> value) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, value);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  const auto infinity = hn::Set(di, (127 + 16) << 23);  // 2^16; this and more is Inf
  const auto bounded = hn::Min(magnitude, infinity);
  const auto odd = hn::And(hn::ShiftRight<13>(bounded), hn::Set(di, 1));
  const auto rebias = hn::Set(di, 0xFFF - ((127 - 15) << 23));
  const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(bounded, rebias), odd));
  const auto half = hn::Set(d, 0.5F);
  const auto subnormal =
      hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(di, half));
  const auto is_normal = hn::Gt(magnitude, hn::Set(di, ((127 - 14) << 23) - 1));
  const auto number = hn::IfThenElse(is_normal, normal, subnormal);
  const auto is_nan = hn::Gt(magnitude, hn::Set(di, 0x7F800000));
  const auto result = hn::IfThenElse(is_nan, hn::Set(di, 0x7E00), number);
  return hn::DemoteTo(HalfWidth<D>(), hn::Or(sign, result));
}

#endif

// Rounds to the nearest number of the element type.
template <class D>
HWY_INLINE hn::Vec<D> rounded(D d, hn::Vec<D> value, BFloat16) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::And(round_to_bf16(d, value), hn::Set(du, 0xFFFF0000U)));
}

template <class D>
HWY_INLINE hn::Vec<D> rounded(D d, hn::Vec<D> value, Float16) {
  return widen_f16(d, round_to_f16(d, value));
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, hn::TFromD<D>* to) {
  hn::StoreU(value, d, to);
}

#if ROTARY_AVX512
// Moves each 16 bits to the upper half of a 32-bit lane in one instruction, instead of one to widen
// and one to shift. bf16 kernels become 15 % faster.
HWY_INLINE __m512i upper_halves(__m256i bits) {
  alignas(64) static constexpr std::uint16_t from[32] = {0, 0,  0, 1,  0, 2,  0, 3,  0, 4, 0,
                                                         5, 0,  6, 0,  7, 0,  8, 0,  9, 0, 10,
                                                         0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
  constexpr __mmask32 odd = 0xAAAAAAAA;
  return _mm512_maskz_permutexvar_epi16(odd, _mm512_load_si512(from), _mm512_castsi256_si512(bits));
}
#endif

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const BFloat16* from) {
  const hn::RebindToUnsigned<D> du32;
  const auto bits = hn::LoadU(HalfWidth<D>(), reinterpret_cast<const std::uint16_t*>(from));
#if ROTARY_AVX512
  if constexpr (hn::MaxLanes(d) == 16) {
    return hn::Vec<D>{_mm512_castsi512_ps(upper_halves(bits.raw))};
  }
#endif
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du32, bits)));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, BFloat16* to) {
  const hn::RebindToSigned<D> di32;
  const auto upper = hn::BitCast(di32, hn::ShiftRight<16>(round_to_bf16(d, value)));
  const HalfWidth<D> du16;
  hn::StoreU(hn::DemoteTo(du16, upper), du16, reinterpret_cast<std::uint16_t*>(to));
}

#if ROTARY_AVX512

template <class D>
HWY_INLINE hn::Vec<HalfWidth<D>> round_to_hardware_bf16(D, hn::Vec<D> value) {
  hn::Vec<HalfWidth<D>> result;
  asm("vcvtneps2bf16 %1, %0" : "=v"(result.raw) : "v"(value.raw));
  return result;
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, HardwareBFloat16* to) {
  hn::StoreU(round_to_hardware_bf16(d, value), HalfWidth<D>(),
             reinterpret_cast<std::uint16_t*>(to));
}

// Narrows the lanes of low, then those of high.
HWY_INLINE __m512i hardware_bf16(__m512 low, __m512 high) {
  __m512i result;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(result) : "v"(low), "v"(high));
  return result;
}

// Narrows to one 32-bit lane per pair, x in its lower half.
HWY_INLINE hn::Vec<hn::ScalableTag<std::uint32_t>> hardware_bf16_pairs(
    hn::Vec<hn::ScalableTag<float>> x, hn::Vec<hn::ScalableTag<float>> y) {
  alignas(64) static constexpr std::uint16_t order[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return {_mm512_permutexvar_epi16(_mm512_load_si512(order), hardware_bf16(x.raw, y.raw))};
}

#endif  // ROTARY_AVX512

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const Float16* from) {
  return widen_f16(d, hn::LoadU(HalfWidth<D>(), reinterpret_cast<const std::uint16_t*>(from)));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, Float16* to) {
  hn::StoreU(round_to_f16(d, value), HalfWidth<D>(), reinterpret_cast<std::uint16_t*>(to));
}

// Loads int8 elements as they are; the caller multiplies by their scale.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::int8_t* from) {
  const hn::Rebind<std::int8_t, D> d8;
  return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<D>(), hn::LoadU(d8, from)));
}

// The nearest integers, halves to even. Requires |value| <= 2^22.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> nearest(D d, hn::Vec<D> value) {
  const hn::RebindToSigned<D> di;
  const auto magic = hn::Set(d, 0x1.8p23F);
  return hn::Sub(hn::BitCast(di, hn::Add(value, magic)), hn::BitCast(di, magic));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, std::int8_t* to) {
  const hn::Rebind<std::int8_t, D> d8;
  hn::StoreU(hn::DemoteTo(d8, nearest(d, value)), d8, to);
}

// Stores doubles as themselves, or rounded to float32.
template <class D>
HWY_INLINE void store_rounded(D d, hn::Vec<D> value, double* to) {
  hn::StoreU(value, d, to);
}
template <class D>
HWY_INLINE void store_rounded(D, hn::Vec<D> value, float* to) {
  const hn::Rebind<float, D> df;
  hn::StoreU(hn::DemoteTo(df, value), df, to);
}

// Stores 2 * Lanes(d) adjacent elements. Overloads exist where one store costs less than two.
template <class D, class T>
HWY_INLINE void store_vectors(D d, hn::Vec<D> first, hn::Vec<D> second, T* to) {
  store(d, first, to);
  store(d, second, to + hn::MaxLanes(d));
}

#if HWY_TARGET != HWY_SCALAR
template <class D>
HWY_INLINE void store_vectors(D d, hn::Vec<D> first, hn::Vec<D> second, BFloat16* to) {
  const hn::Repartition<std::uint16_t, D> du16;
  const auto low = hn::BitCast(du16, round_to_bf16(d, first));
  const auto high = hn::BitCast(du16, round_to_bf16(d, second));
  hn::StoreU(hn::ConcatOdd(du16, high, low), du16, reinterpret_cast<std::uint16_t*>(to));
}
#endif

#if ROTARY_AVX512
template <class D>
HWY_INLINE void store_vectors(D d, hn::Vec<D> first, hn::Vec<D> second, HardwareBFloat16* to) {
  if constexpr (hn::MaxLanes(d) == 16) {
    _mm512_storeu_si512(to, hardware_bf16(first.raw, second.raw));
  } else {
    store(d, first, to);
    store(d, second, to + hn::MaxLanes(d));
  }
}
#endif

// Keeps a vector in its register. Otherwise gcc 12 reloads it for each product, which is 25 %
// slower with data in L2.
template <class V>
HWY_INLINE void keep_in_register([[maybe_unused]] V& value) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  asm("" : "+v"(value.raw));
#endif
}

// Calls visit(d, i) for elements [i, i + Lanes(d)), from element `at` on. Uses whole vectors, then
// at most one vector of each halved length.
template <class D, class Visit>
HWY_INLINE void for_each_vector(D d, std::int64_t at, std::int64_t count, const Visit& visit) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  for (; count - at >= lanes; at += lanes) visit(d, at);
  if constexpr (lanes > 1) {
    if (at < count) for_each_vector(hn::Half<D>(), at, count, visit);
  }
}

// The largest of `least` and the lanes of value(d, i), for the same vectors as for_each_vector().
template <class D, class T, class Value>
HWY_INLINE T largest_value(D d, std::int64_t at, std::int64_t count, T least, const Value& value) {
  constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  auto most = hn::Set(d, least);
  for (; count - at >= lanes; at += lanes) most = hn::Max(most, value(d, at));
  const T largest = hn::GetLane(hn::MaxOfLanes(d, most));
  if constexpr (lanes > 1) {
    if (at < count) return std::max(largest, largest_value(hn::Half<D>(), at, count, least, value));
  }
  return largest;
}

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
