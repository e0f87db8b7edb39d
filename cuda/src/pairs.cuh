// SPDX-License-Identifier: Apache-2.0
// Loads pairs of a head into a thread's registers, rotates and normalises them.
#pragma once

#include "elements.cuh"
#include "team.cuh"

namespace rotary::cuda {

// The elements of two accesses: x and y of Count pairs (halves), or 2 * Count neighbours.
template <class In, int Count>
struct Loaded {
  Packed<In, Count> x;
  Packed<In, Count> y;
};

// The loaded elements as float: in the order of the accesses, or as x and y of each pair.
template <int Count>
struct Pairs {
  float x[Count];
  float y[Count];
};

template <class In, int Count>
__device__ Pairs<Count> floats_of(const Loaded<In, Count>& loaded) {
  Pairs<Count> accesses;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    accesses.x[i] = element(loaded.x, i);
    accesses.y[i] = element(loaded.y, i);
  }
  return accesses;
}

template <Features read, int Count>
__device__ Pairs<Count> paired(const Pairs<Count>& accesses) {
  Pairs<Count> pairs = accesses;
  if constexpr (read == Features::neighbours) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int even = 2 * i;
      const int odd = 2 * i + 1;
      pairs.x[i] = even < Count ? accesses.x[even] : accesses.y[even - Count];
      pairs.y[i] = odd < Count ? accesses.x[odd] : accesses.y[odd - Count];
    }
  }
  return pairs;
}

template <Features written, int Count>
__device__ Pairs<Count> in_order(const Pairs<Count>& pairs) {
  Pairs<Count> accesses = pairs;
  if constexpr (written == Features::neighbours) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int even = 2 * i;
      const int odd = 2 * i + 1;
      (even < Count ? accesses.x[even] : accesses.y[even - Count]) = pairs.x[i];
      (odd < Count ? accesses.x[odd] : accesses.y[odd - Count]) = pairs.y[i];
    }
  }
  return accesses;
}

// Rotates: x' = x c - y s, y' = x s + y c, like Turn in src/kernels/turn-inl.hpp. Takes and returns
// elements in the order of accesses. row: cos and sin.
template <Features read, Features written, int Count>
__device__ Pairs<Count> turned(const Pairs<Count>& accesses, const Pairs<Count>& row) {
  const Pairs<Count> pairs = paired<read>(accesses);
  Pairs<Count> to;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    to.x[i] = fmaf(-pairs.y[i], row.y[i], pairs.x[i] * row.x[i]);
    to.y[i] = fmaf(pairs.x[i], row.y[i], pairs.y[i] * row.x[i]);
  }
  return in_order<written>(to);
}

// offset + weight for the features of two accesses; 1 without weights.
template <int Count>
__device__ Pairs<Count> gains_at(const Norm& norm, int head, const Accesses& at) {
  Pairs<Count> gains;
  const float* const weight = norm.weight + head * norm.weight_of_head;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    gains.x[i] = norm.weight == nullptr ? 1 : norm.offset + __ldg(weight + at.x + i);
    gains.y[i] = norm.weight == nullptr ? 1 : norm.offset + __ldg(weight + at.y + i);
  }
  return gains;
}

// Multiplies by scale and gains. A gain of 1 changes no bit.
template <int Count>
__device__ Pairs<Count> scaled(Pairs<Count> accesses, float scale, const Pairs<Count>& gains) {
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    accesses.x[i] = accesses.x[i] * scale * gains.x[i];
    accesses.y[i] = accesses.y[i] * scale * gains.y[i];
  }
  return accesses;
}

__device__ inline double square_added(float value, double sum) {
  return fma(static_cast<double>(value), static_cast<double>(value), sum);
}

// Sums the squares of every two pairs in order, then adds these sums in a binary tree. Therefore 32
// threads with 2 pairs each give the same bits as 8 threads with 8 pairs each.
template <int Count>
__device__ double squares_of(const Pairs<Count>& pairs) {
  constexpr int sums_of_two = Count > 1 ? Count / 2 : 1;
  double sums[sums_of_two];
#pragma unroll
  for (int two = 0; two < sums_of_two; ++two) {
    sums[two] = 0;
#pragma unroll
    for (int i = 2 * two; i < 2 * two + 2 && i < Count; ++i) {
      sums[two] = square_added(pairs.y[i], square_added(pairs.x[i], sums[two]));
    }
  }
#pragma unroll
  for (int apart = 1; apart < sums_of_two; apart *= 2) {
#pragma unroll
    for (int i = 0; i + apart < sums_of_two; i += 2 * apart) sums[i] += sums[i + apart];
  }
  return sums[0];
}

// Returns the sum over `lanes` threads (a power of two) to each of them. Adds neighbouring threads
// first. mask: the bits of these threads in the warp.
__device__ inline double summed(double sum, int lanes, unsigned mask) {
  for (int offset = 1; offset < lanes; offset *= 2) {
    sum += __shfl_xor_sync(mask, sum, offset, lanes);
  }
  return sum;
}

__device__ inline float scale_of(const Norm& norm, double sum) {
  return static_cast<float>(rsqrt(fma(sum, norm.part, norm.epsilon)));
}

}  // namespace rotary::cuda
