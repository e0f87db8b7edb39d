// SPDX-License-Identifier: Apache-2.0
// Loads and stores adjacent elements in device memory, and converts them from and to float.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace rotary::cuda {

// `Count` adjacent elements as 16-bit or 32-bit words. element() unpacks one element.
template <class T, int Count>
struct alignas(sizeof(T) * Count) Packed {
  static constexpr int bytes = sizeof(T) * Count;
  using Word = std::conditional_t<bytes == 2, std::uint16_t, std::uint32_t>;
  Word words[bytes / sizeof(Word)];
};

// The element in the lower or the upper half of a word; for float, lower() is the entire word.
template <class T>
__device__ float lower(std::uint32_t word) {
  if constexpr (std::is_same_v<T, float>) return __uint_as_float(word);
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __uint_as_float(word << 16);
  if constexpr (std::is_same_v<T, __half>) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(word & 0xFFFF)));
  }
}
template <class T>
__device__ float upper(std::uint32_t word) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return __uint_as_float(word & 0xFFFF0000);
  return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> 16)));
}

template <class T, int Count>
__device__ float element(const Packed<T, Count>& packed, int i) {
  if constexpr (sizeof(T) == 4) return lower<T>(packed.words[i]);
  if constexpr (Count == 1) return lower<T>(packed.words[0]);
  const std::uint32_t word = packed.words[i / 2];
  return i % 2 == 0 ? lower<T>(word) : upper<T>(word);
}

// Rounds two elements into a word, with one instruction.
template <class T>
__device__ std::uint32_t word_of(float first, float second) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  } else {
    const __half2 both = __floats2half2_rn(first, second);
    return *reinterpret_cast<const std::uint32_t*>(&both);
  }
}

template <class T, int Count>
__device__ Packed<T, Count> packed(const float (&from)[Count]) {
  Packed<T, Count> to;
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int i = 0; i < Count; ++i) to.words[i] = __float_as_uint(from[i]);
  } else if constexpr (Count == 1) {
    to.words[0] = static_cast<std::uint16_t>(word_of<T>(from[0], 0));
  } else {
#pragma unroll
    for (int i = 0; i < Count; i += 2) to.words[i / 2] = word_of<T>(from[i], from[i + 1]);
  }
  return to;
}

// `from` must be aligned to Count elements.
template <int Count, class T>
__device__ Packed<T, Count> load(const T* from) {
  __builtin_assume(__isGlobal(from));
  return *reinterpret_cast<const Packed<T, Count>*>(from);
}

template <int Count, class T>
__device__ void store(T* to, const float (&from)[Count]) {
  __builtin_assume(__isGlobal(to));
  *reinterpret_cast<Packed<T, Count>*>(to) = packed<T>(from);
}

}  // namespace rotary::cuda
