// SPDX-License-Identifier: Apache-2.0
// Converts single elements of each DType to the exact double, and rounds to 16-bit formats. For
// rows, which are few; kernels/ processes tensors.
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

// value < limit ? below : above, for value and limit >= 0, by a mask. For a conditional, gcc 12
// makes a branch around the floating-point operation and then does not vectorise the loop.
[[nodiscard]] inline std::int32_t select_by(std::int32_t value, std::int32_t limit,
                                            std::int32_t below, std::int32_t above) noexcept {
  return above ^ ((above ^ below) & ((value - limit) >> 31));
}

// IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. Below 2^-14 the fraction counts
// units of 2^-24.
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

// Rounds to the nearest f16, ties to even: 11 bits of significand; below 2^-14 a multiple of 2^-24
// (adding 1/2 rounds to it); Inf from 65520 on. Requires a finite value.
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

// Calls visit with an element of the dtype's type; a double if the dtype is invalid.
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
