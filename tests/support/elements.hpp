// SPDX-License-Identifier: Apache-2.0
// Reads and stores elements of every dtype by the tests' own conversions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "rotary/tensor_view.hpp"
#include "support/bfloat16.hpp"
#include "support/binary16.hpp"

namespace rotary::test {

// The value of an element, exactly.
[[nodiscard]] inline double value_at(DType dtype, const std::byte* element) noexcept {
  const auto load = [element]<class T>(T value) {
    std::memcpy(&value, element, sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::f32:
      return load(0.0F);
    case DType::bf16:
      return from_bfloat16(load(std::uint16_t{}));
    case DType::f16:
      return from_binary16(load(std::uint16_t{}));
    case DType::f64:
      return load(0.0);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// The bits of the nearest element, ties to even, in the lowest bytes. bf16 rounds to float first.
[[nodiscard]] inline std::uint64_t bits_of(DType dtype, double value) noexcept {
  switch (dtype) {
    case DType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DType::bf16:
      return to_bfloat16(static_cast<float>(value));
    case DType::f16:
      return to_binary16(value);
    case DType::f64:
      return std::bit_cast<std::uint64_t>(value);
  }
  return 0;
}

// Stores the nearest element and returns its value.
inline double store(DType dtype, std::byte* element, double value) noexcept {
  const std::uint64_t bits = bits_of(dtype, value);
  std::memcpy(element, &bits, static_cast<std::size_t>(size_in_bytes(dtype)));
  return value_at(dtype, element);
}

}  // namespace rotary::test
