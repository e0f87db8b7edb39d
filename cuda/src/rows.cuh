// SPDX-License-Identifier: Apache-2.0
// cos and sin of a pair at a token's position. The operations and their order are those of
// src/kernels/rows-inl.hpp, so a row has the same bits. Compiled without contraction: fma is
// explicit.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "job.hpp"
#include "kernels/turn_polynomials.hpp"

namespace rotary::cuda {

template <class Real>
struct CosSin {
  Real cos;
  Real sin;
};

// The batch row of a token and its index there. Both are below 2^31, so a product with a 64-bit
// stride takes two instructions.
struct Token {
  std::uint32_t batch;
  std::uint32_t token;
};

// A number whose load is in flight; value() waits for it.
struct PendingNumber {
  std::uint32_t low;
  std::uint32_t high;  // not read for an int32

  __device__ std::int64_t value(NumberKind kind) const {
    if (kind == NumberKind::int32) return static_cast<std::int32_t>(low);
    return static_cast<std::int64_t>(std::uint64_t{high} << 32 | low);
  }
};

__device__ inline PendingNumber pending_at(const TokenNumbers& numbers, const Token& at,
                                           std::uint32_t axis) {
  const std::int64_t index = at.batch * numbers.batch_stride + at.token * numbers.token_stride +
                             axis * numbers.axis_stride;
  if (numbers.kind == NumberKind::consecutive) {
    const auto number = static_cast<std::uint64_t>(numbers.first + index);
    return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
  }
  const auto* const words = static_cast<const std::uint32_t*>(numbers.data);
  if (numbers.kind == NumberKind::int32) return {words[index], 0};
  const uint2 both = reinterpret_cast<const uint2*>(words)[index];
  return {both.x, both.y};
}

__device__ inline std::int64_t number_at(const TokenNumbers& numbers, const Token& at,
                                         std::uint32_t axis) {
  return pending_at(numbers, at, axis).value(numbers.kind);
}

template <std::size_t Count>
__device__ inline double evaluate(const kernels::Coefficients<Count>& coefficients, double t) {
  double sum = coefficients.values[Count - 1];
#pragma unroll
  for (int power = static_cast<int>(Count) - 1; power-- > 0;)
    sum = fma(sum, t, coefficients.values[power]);
  return sum;
}

// cos and sin of a phase in units of 2^-64 turn.
__device__ inline CosSin<double> cos_sin(std::uint64_t phase) {
  constexpr auto sine_polynomial = kernels::sine_of_units;
  constexpr auto cosine_polynomial = kernels::cosine_of_units;
  // phase = quarter * 2^62 + rest; |rest| <= 2^61 is at most an eighth of a turn
  const std::uint64_t quarter = (phase + (std::uint64_t{1} << 61)) >> 62;
  const double r = __ll2double_rn(static_cast<std::int64_t>(phase - (quarter << 62)));
  const double t = r * r;
  const double sine = r * evaluate(sine_polynomial, t);
  const double cosine = evaluate(cosine_polynomial, t);
  // quarter 0: (c, s)  1: (-s, c)  2: (-c, -s)  3: (s, -c)
  const bool swapped = (quarter & 1) != 0;
  const double cos = swapped ? sine : cosine;
  const double sin = swapped ? cosine : sine;
  return {((quarter ^ (quarter >> 1)) & 1) != 0 ? -cos : cos, (quarter >> 1) != 0 ? -sin : sin};
}

// The axis whose coordinate rotates this pair.
__device__ inline std::uint32_t axis_of(const Places& places, int pair) {
  return static_cast<std::uint32_t>(places.pair_axes == nullptr ? 0 : places.pair_axes[pair]);
}

__device__ inline std::uint64_t phase_at(const Places& places, const Token& at, int pair,
                                         int pairs) {
  if (places.dense_axes == 1) {
    const std::int64_t position = number_at(places.positions, at, axis_of(places, pair));
    return static_cast<std::uint64_t>(position) * places.turns[pair];
  }
  std::uint64_t sum = 0;
#pragma unroll 1
  for (int axis = 0; axis < places.dense_axes; ++axis) {
    const auto position = static_cast<std::uint64_t>(
        number_at(places.positions, at, static_cast<std::uint32_t>(axis)));
    sum += position * places.turns[axis * pairs + pair];
  }
  return sum;
}

// The first loads of a stepped row, in flight.
struct Stepped {
  PendingNumber position;
  std::uint64_t turns;
};

__device__ inline Stepped stepped_at(const Rows& rows, const Token& at, int pair) {
  return {pending_at(rows.at.positions, at, axis_of(rows.at, pair)), rows.at.turns[pair]};
}

__device__ inline CosSin<float> row_of(const Rows& rows, const Stepped& read, int pair) {
  constexpr std::uint64_t step_mask = 15;  // kernels::steps_per_anchor - 1
  const auto position = static_cast<std::uint64_t>(read.position.value(rows.at.positions.kind));
  const double* const step = rows.steps + (position & step_mask) * 2 * rows.lane_stride + pair;
  const CosSin<double> by{step[0], step[rows.lane_stride]};
  CosSin<double> anchor = cos_sin((position & ~step_mask) * read.turns);
  if (rows.factor != 1) anchor = {anchor.cos * rows.factor, anchor.sin * rows.factor};
  const double cos = fma(-anchor.sin, by.sin, anchor.cos * by.cos);
  const double sin = fma(anchor.cos, by.sin, anchor.sin * by.cos);
  return {__double2float_rn(cos), __double2float_rn(sin)};
}

// cos and sin of a pair, without cos_scale and sin_scale.
__device__ inline CosSin<float> row_at(const Rows& rows, const Token& at, int pair, int pairs) {
  if (rows.kind == RowKind::stepped) return row_of(rows, stepped_at(rows, at, pair), pair);
  if (rows.kind == RowKind::given) {
    const std::int64_t index = at.batch * rows.batch_stride + at.token * rows.token_stride +
                               static_cast<std::uint32_t>(pair) * rows.pair_stride;
    return {rows.cos[index], rows.sin[index]};
  }
  std::uint64_t phase = phase_at(rows.at, at, pair, pairs);
  if (rows.kind == RowKind::between) phase -= phase_at(rows.from, at, pair, pairs);
  const CosSin<double> angle = cos_sin(phase);
  return {__double2float_rn(angle.cos * rows.factor), __double2float_rn(angle.sin * rows.factor)};
}

}  // namespace rotary::cuda
