// SPDX-License-Identifier: Apache-2.0
// Elements of each DType, one at a time, as the double that each is exactly. For rows, which are
// few; tensors go through kernels/.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
[[nodiscard]] inline double value_of(Float16 element) noexcept {
  const std::uint64_t sign = std::uint64_t{element.bits} >> 15;
  const std::uint64_t exponent = (element.bits >> 10) & 0x1F;
  const std::uint64_t fraction = element.bits & 0x3FF;
  if (exponent == 0) {
    const double magnitude = static_cast<double>(fraction) * 0x1p-24;
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint64_t wide_exponent = exponent == 0x1F ? 0x7FF : exponent - 15 + 1023;
  return std::bit_cast<double>((sign << 63) | (wide_exponent << 52) | (fraction << 42));
}

// Element i from here.
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
