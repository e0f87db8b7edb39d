// SPDX-License-Identifier: Apache-2.0
// Converts single elements of a DType to double, exactly, and rounds to 16-bit formats. The kernels
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
