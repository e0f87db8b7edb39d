// SPDX-License-Identifier: Apache-2.0
// Converts single elements of a DType to double, exactly, and back with one rounding. The kernels
// convert tensors without these functions.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "rotary/tensor_view.hpp"

namespace rotary {

struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

[[nodiscard]] inline double value_of(double element) noexcept { return element; }
[[nodiscard]] inline double value_of(float element) noexcept { return element; }
[[nodiscard]] inline double value_of(BFloat16 element) noexcept {
  return std::bit_cast<float>(std::uint32_t{element.bits} << 16);
}

// value < limit ? below : above, for value and limit >= 0. A mask, because gcc 12 makes a branch of
// a conditional and then does not vectorise the loop.
[[nodiscard]] inline std::int32_t select_by(std::int32_t value, std::int32_t limit,
                                            std::int32_t below, std::int32_t above) noexcept {
  return above ^ ((above ^ below) & ((value - limit) >> 31));
}

// IEEE binary16 has 1 sign bit, 5 exponent bits (bias 15) and 10 fraction bits. Below 2^-14 the
// fraction counts units of 2^-24.
[[nodiscard]] inline double value_of(Float16 element) noexcept {
  const std::uint32_t sign = (element.bits & 0x8000U) << 16;
  const std::int32_t magnitude = element.bits & 0x7FFF;
  const std::int32_t rebias = select_by(magnitude, 0x7C00, 127 - 15, 255 - 31) << 23;
  const auto subnormal = std::bit_cast<std::int32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  const std::int32_t wide = select_by(magnitude, 0x400, subnormal, (magnitude << 13) + rebias);
  return std::bit_cast<float>(static_cast<std::uint32_t>(wide) | sign);
}

// Rounds to the nearest bf16, ties to even. Requires a finite value.
[[nodiscard]] inline float rounded_to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t odd = (bits >> 16) & 1;
  return std::bit_cast<float>((bits + 0x7FFF + odd) & 0xFFFF0000U);
}

// Rounds to the nearest f16, ties to even: to 11 bits of significand or, below 2^-14, to a multiple
// of 2^-24; Inf from 65520. Requires a finite value.
[[nodiscard]] inline float rounded_to_f16(float value) noexcept {
  const float magnitude = std::fabs(value);
  float rounded = std::numeric_limits<float>::infinity();
  if (magnitude < 0x1p-14F) {
    rounded = (magnitude + 0.5F) - 0.5F;
  } else if (magnitude < 65520) {
    const auto bits = std::bit_cast<std::uint32_t>(magnitude);
    const std::uint32_t odd = (bits >> 13) & 1;
    rounded = std::bit_cast<float>((bits + 0xFFF + odd) & 0xFFFFE000U);
  }
  return std::copysign(rounded, value);
}

// A float32 that rounds to the same bf16 or f16 as `value`. Keeps 14 bits of the significand and
// sets the last one if a lower bit was lost ("round to odd"). bf16 and f16 have at most 11 bits, so
// the result is halfway between two of their numbers only if `value` is. Results below 2^-136,
// which float32 may round, are 0 in bf16 and f16. Branch-free integer arithmetic, here and below,
// lets the compiler vectorise loops.
[[nodiscard]] inline float rounded_to_odd(double value) noexcept {
  constexpr std::uint64_t lost = (std::uint64_t{1} << (53 - 14)) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sticky = ((bits & lost) + lost) & (lost + 1);
  return static_cast<float>(std::bit_cast<double>((bits | sticky) & ~lost));
}

inline void put(double value, double& element) noexcept { element = value; }
inline void put(double value, float& element) noexcept { element = static_cast<float>(value); }

inline void put(double value, BFloat16& element) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(rounded_to_odd(value));
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFF);
  const std::uint32_t odd = (bits >> 16) & 1;
  const std::uint32_t rounded = (bits + 0x7FFF + odd) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40;
  element.bits = static_cast<std::uint16_t>(magnitude > 0x7F800000 ? quiet : rounded);
}

// f16 has 5 exponent bits (bias 15) and 10 fraction bits. Results below 2^-14 are multiples of
// 2^-24; adding 1/2 rounds to such a multiple. From 65520 on the exponent reaches 31, which means
// Inf.
inline void put(double value, Float16& element) noexcept {
  constexpr std::int32_t smallest_normal = 0x38800000;  // 2^-14
  constexpr std::int32_t beyond = 0x47800000;           // 2^16
  constexpr std::int32_t half = 0x3F000000;
  const auto bits = std::bit_cast<std::uint32_t>(rounded_to_odd(value));
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFF);
  const std::int32_t finite = select_by(magnitude, beyond, magnitude, beyond);
  const std::int32_t odd = (finite >> 13) & 1;
  const std::int32_t normal = (finite + 0xFFF + odd - ((127 - 15) << 23)) >> 13;
  const std::int32_t units =
      std::bit_cast<std::int32_t>(std::bit_cast<float>(finite) + 0.5F) - half;
  const std::int32_t number = select_by(finite, smallest_normal, units, normal);
  const std::int32_t rounded = select_by(magnitude, 0x7F800001, number, 0x7E00);
  element.bits =
      static_cast<std::uint16_t>(((bits >> 16) & 0x8000) | static_cast<std::uint32_t>(rounded));
}

// Calls visit with an element of the dtype's type, or a double for an invalid dtype.
template <class Visit>
auto with_element(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::f32:
      return visit(float{});
    case DType::bf16:
      return visit(BFloat16{});
    case DType::f16:
      return visit(Float16{});
    case DType::f64:
      break;
  }
  return visit(double{});
}

template <class Element>
[[nodiscard]] double value_at(const void* elements, std::int64_t i) noexcept {
  Element element;
  std::memcpy(
      &element,
      static_cast<const std::byte*>(elements) + i * static_cast<std::int64_t>(sizeof(Element)),
      sizeof element);
  return value_of(element);
}

}  // namespace rotary
