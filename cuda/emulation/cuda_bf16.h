// SPDX-License-Identifier: Apache-2.0
// Emulates CUDA's bfloat16 functions that the kernels use, on the CPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

struct __nv_bfloat16 {
  std::uint16_t bits;
};
struct __nv_bfloat162 {
  __nv_bfloat16 x;
  __nv_bfloat16 y;
};

inline __nv_bfloat16 emulated_bfloat16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return {0x7FFF};
  bits += 0x7FFF + (bits >> 16 & 1);
  return {static_cast<std::uint16_t>(bits >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {emulated_bfloat16(x), emulated_bfloat16(y)};
}
