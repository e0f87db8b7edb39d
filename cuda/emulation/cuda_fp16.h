// SPDX-License-Identifier: Apache-2.0
// Emulates CUDA's float16 functions that the kernels use, on the CPU.
#pragma once

#include <cstdint>
#include <cstring>

struct __half {
  std::uint16_t bits;
};
struct __half2 {
  __half x;
  __half y;
};

inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
inline float __half2float(__half half) {
  _Float16 value = 0;
  std::memcpy(&value, &half, sizeof value);
  return static_cast<float>(value);
}
inline __half2 __floats2half2_rn(float x, float y) {
  const _Float16 values[2] = {static_cast<_Float16>(x), static_cast<_Float16>(y)};
  __half2 both;
  std::memcpy(&both, values, sizeof both);
  return both;
}
