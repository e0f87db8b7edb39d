// SPDX-License-Identifier: Apache-2.0
// The error bounds that this library promises, as functions. docs/numeric-contract.md derives them
// and lists the worst cases seen.
//
// Results have the same bits in every floating-point mode of the threads (rounding direction,
// flushing of subnormal numbers to 0, x87 precision), and every call leaves the modes as they were.
// One exception: rotate, rotate_qk, append, shift by rotations, normalize_heads and
// remake_rotations may return 0 for subnormal numbers if the thread flushes them. The functions
// below compute in the caller's mode.
//
//   rotate_error_bound(Direction::forward, 1, 131071);  // what a test may allow
#ifndef ROTARY_NUMERIC_CONTRACT_HPP
#define ROTARY_NUMERIC_CONTRACT_HPP

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>

#include "rotary/attention_contract.hpp"
#include "rotary/rotate.hpp"

namespace rotary {

// For positions with several axes, `position` below is the coordinate on the pair's axis. For dense
// axes it is the sum of the coordinates' magnitudes.

// The type of a position: an integer, or a real number.
template <class Number>
concept PositionNumber = std::integral<Number> || std::floating_point<Number>;

// Error of a cos or sin before the rounding to float32, for A = 1. The first term is half a unit of
// the 64-bit fraction of a turn, times the position. The second is the error of double arithmetic.
template <PositionNumber Number>
[[nodiscard]] double angle_error_bound(Number position) noexcept {
  return 2 * std::numbers::pi * std::abs(static_cast<double>(position)) * 0x1p-65 + 0x1p-50;
}

// Error of a float32 row element, rounded from a double with the error before_rounding. Uses the
// ulp at the double, where floats may be coarser than at the exact value.
[[nodiscard]] inline double rounded_row_error(double exact, double before_rounding) noexcept {
  const auto nearest = static_cast<float>(std::abs(exact) + before_rounding);
  const auto next = std::nextafter(nearest, std::numeric_limits<float>::infinity());
  const double half_ulp = (static_cast<double>(next) - static_cast<double>(nearest)) / 2;
  return half_ulp + before_rounding;
}

// |row element - exact|, with exact = A cos(p inv_freq) or A sin(p inv_freq).
template <PositionNumber Number>
[[nodiscard]] double row_error_bound(double exact, double attention_factor,
                                     Number position) noexcept {
  return rounded_row_error(exact, attention_factor * angle_error_bound(position));
}

// Relative error of the factor of xPos and of the product with it, in double.
inline constexpr double xpos_factor_error = 0x1p-51;

// row_error_bound for a row of xPos; attention_factor is A times xPos's factor.
template <PositionNumber Number>
[[nodiscard]] double xpos_row_error_bound(double exact, double attention_factor,
                                          Number position) noexcept {
  return rounded_row_error(exact,
                           attention_factor * (angle_error_bound(position) + xpos_factor_error));
}

// |each component of a rotated float32 pair - exact| in units of 2^-24 * hypot(exact pair), for a
// hypot in [2^-100, 2^100]. The row, a product and the sum are rounded; the inverse of A != 1 also
// rounds 1/A^2 and its product with the row. Holds for xPos, too.
template <PositionNumber Number>
[[nodiscard]] double rotate_error_bound(Direction direction, double attention_factor,
                                        Number position) noexcept {
  const double roundings = direction == Direction::inverse && attention_factor != 1 ? 5 : 3;
  return roundings * (1 + 0x1p-20) + std::numbers::sqrt2 * angle_error_bound(position) * 0x1p24;
}

// rotate_error_bound for a bf16 result, which rounds the float32 result to 8 bits of significand.
template <PositionNumber Number>
[[nodiscard]] double rotate_bf16_error_bound(Direction direction, double attention_factor,
                                             Number position) noexcept {
  const double float_units = rotate_error_bound(direction, attention_factor, position);
  return float_units + (1 + float_units * 0x1p-24) * 0x1p16;  // 2^-8 relative = 2^16 units
}

// A float32 result of at least this size becomes Inf in f16. The largest f16 is 65504.
inline constexpr double f16_overflow = 65520;

// rotate_error_bound for an f16 result below f16_overflow, which rounds the float32 result to 11
// bits of significand or, below 2^-14, to a multiple of 2^-24. hypot: that of the exact pair.
template <PositionNumber Number>
[[nodiscard]] double rotate_f16_error_bound(Direction direction, double attention_factor,
                                            Number position, double hypot) noexcept {
  if (hypot == 0) return 0;
  const double float_units = rotate_error_bound(direction, attention_factor, position);
  const double normal = (1 + float_units * 0x1p-24) * 0x1p13;  // 2^-11 relative = 2^13 units
  const double subnormal = 0x1p-25 / (0x1p-24 * hypot);
  return float_units + std::fmax(normal, subnormal);
}

// Error of a float32 result that is stored as dtype, in units of 2^-24 * size. float_units: the
// error before the store, in the same units. size: at least the magnitude of the result and of the
// exact value. f16: only below f16_overflow.
[[nodiscard]] inline double stored_error_bound(DType dtype, double float_units,
                                               double size) noexcept {
  const double relative = 1 + float_units * 0x1p-24;
  if (dtype == DType::bf16) return float_units + relative * 0x1p16;
  if (dtype != DType::f16) return float_units;
  return float_units + std::fmax(relative * 0x1p13, 0x1p-25 / (0x1p-24 * size));
}

// |float32 element of normalize_heads - exact| in units of 2^-24 * |exact|, where exact uses the
// weight_offset rounded to float32. Rounds 1 / root mean square, its product with x, the gain
// (weight_offset + weight), and the product with the gain. Holds if elements before and after the
// last product are 0 or in [2^-100, 2^100].
inline constexpr double normalize_error_bound = 4 * (1 + 0x1p-20);

// |component of a normalised, then rotated float32 key - exact| in units of 2^-24 * hypot(exact
// pair). Features outside the window have normalize_error_bound.
template <PositionNumber Number>
[[nodiscard]] double rotate_normalized_error_bound(double attention_factor,
                                                   Number position) noexcept {
  return normalize_error_bound + rotate_error_bound(Direction::forward, attention_factor, position);
}

// |component of a rotated, then normalised float32 key - exact| in units of 2^-24 * |gain| *
// hypot(rotated pair) / root mean square, all exact. A rotation's error enters the pair and, times
// sqrt(2), the mean square. Holds outside the window, too.
template <PositionNumber Number>
[[nodiscard]] double normalize_rotated_error_bound(double attention_factor,
                                                   Number position) noexcept {
  return normalize_error_bound + (1 + std::numbers::sqrt2) * rotate_error_bound(Direction::forward,
                                                                                attention_factor,
                                                                                position);
}

// |element of a double row - A cos(p inv_freq)|, its last rounding included.
template <PositionNumber Number>
[[nodiscard]] double row_f64_error_bound(double attention_factor, Number position) noexcept {
  return attention_factor * angle_error_bound(position);
}

// |each component of a rotated double pair - exact| in units of 2^-53 * hypot(exact pair), for a
// hypot in [2^-900, 2^900]: the row's error, and the roundings of a product and the sum. The
// inverse of A != 1 also rounds A^2, 1/A^2 and its product with the row.
template <PositionNumber Number>
[[nodiscard]] double rotate_f64_error_bound(Direction direction, double attention_factor,
                                            Number position) noexcept {
  const double roundings = direction == Direction::inverse && attention_factor != 1 ? 5 : 2;
  const double rows = std::numbers::sqrt2 * angle_error_bound(position) * 0x1p53;
  return (roundings + rows) * (1 + 0x1p-20);
}

// The position to pass to the bounds above for rotations of make_shift, with A'/A as the attention
// factor. The difference of two angles has the errors of both. If frequencies are equal and the
// distance is an integer, |to - from| suffices.
template <PositionNumber Number>
[[nodiscard]] double shift_position_bound(Number from, Number to) noexcept {
  return std::abs(static_cast<double>(from)) + std::abs(static_cast<double>(to));
}

// |new scale * new element - exact| of a shifted int8 key: half a step, four float32 roundings of
// at most 127 steps, and the error of the float32 pair. hypot: that of the exact pair; 0 outside
// the window. For scales that are normal numbers.
template <PositionNumber Number>
[[nodiscard]] double shift_int8_error_bound(double attention_factor, Number position,
                                            double new_scale, double hypot) noexcept {
  const double steps = 0.5 + 127 * 4 * 0x1p-24 * (1 + 0x1p-20);
  return steps * std::abs(new_scale) +
         rotate_error_bound(Direction::forward, attention_factor, position) * 0x1p-24 * hypot;
}

// |scale * element - exact| of a head that append() stores in 8 bits. before: the error of the
// float32 number, such as rotate_error_bound * 2^-24 * hypot(exact pair); 0 for values. Storing
// adds half a step and three roundings, each of at most 127 steps. If the scale is 0, the head's
// float32 numbers are below 2^-100.
[[nodiscard]] inline double append_int8_error_bound(double scale, double before) noexcept {
  const double steps = 0.5 + 127 * 3 * 0x1p-24 * (1 + 0x1p-20);
  return (scale == 0 ? 0x1p-100 : steps * scale) + before;
}

// |float32 component under Numerics::transformers - that of the model's class|, relative to
// hypot(pair of q or k). The float32 angles have a relative difference of at most 4 * 2^-23; later
// roundings add at most 2^-21. For bf16 and f16 add one unit in the last place of the result.
// position >= 0.
[[nodiscard]] inline double transformers_agreement(double attention_factor, double position,
                                                   double inv_freq) noexcept {
  return 0x1p-21 + 4 * 0x1p-23 * attention_factor * position * inv_freq;
}

// row_f64_error_bound for rows of xPos; attention_factor is A times xPos's factor.
template <PositionNumber Number>
[[nodiscard]] double xpos_row_f64_error_bound(double attention_factor, Number position) noexcept {
  return attention_factor * (angle_error_bound(position) + xpos_factor_error);
}
// rotate_f64_error_bound for rows of xPos.
template <PositionNumber Number>
[[nodiscard]] double xpos_rotate_f64_error_bound(Direction direction, Number position) noexcept {
  const double factor = std::numbers::sqrt2 * xpos_factor_error * 0x1p53;
  return rotate_f64_error_bound(direction, 1, position) + factor * (1 + 0x1p-20);
}

// Half a unit in the last place of the dtype at this number; 0 for f64.
[[nodiscard]] inline double half_ulp(DType dtype, double number) noexcept {
  if (dtype == DType::f64) return 0;
  const int digits = dtype == DType::f32 ? 24 : dtype == DType::bf16 ? 8 : 11;
  const int smallest = dtype == DType::f32 ? -149 : dtype == DType::bf16 ? -133 : -24;
  const int unit = number == 0 ? smallest : std::ilogb(number) - digits + 1;
  return std::ldexp(0.5, unit < smallest ? smallest : unit);
}

// Error of an element rounded to dtype from a double with the error before_rounding. f16: only
// below f16_overflow.
[[nodiscard]] inline double stored_element_error(DType dtype, double exact,
                                                 double before_rounding) noexcept {
  return before_rounding + half_ulp(dtype, std::abs(exact) + before_rounding);
}

// |element of fill_sinusoidal - exact|. If the spec has an offset, pass |position| + |offset|.
template <PositionNumber Number>
[[nodiscard]] double sinusoidal_error_bound(DType dtype, double exact, Number position) noexcept {
  return stored_element_error(dtype, exact, angle_error_bound(position));
}

// |element of add_sinusoidal - exact|, with scaled = embedding_scale * src. The product and the sum
// are rounded to double before the store.
template <PositionNumber Number>
[[nodiscard]] double add_sinusoidal_error_bound(DType dtype, double exact, double scaled,
                                                Number position) noexcept {
  const double roundings = 0x1p-53 * (std::abs(scaled) + std::abs(exact)) * (1 + 0x1p-20);
  return stored_element_error(dtype, exact, angle_error_bound(position) + roundings);
}

// |element of shift_sinusoidal - exact|. largest: the larger magnitude of the pair's two numbers.
// Two products each have the angle's error and a rounding; their sum is at most √2 * largest. Each
// product may lose 2^-1075 by underflow.
template <PositionNumber Number>
[[nodiscard]] double shift_sinusoidal_error_bound(DType dtype, double exact, double largest,
                                                  Number distance) noexcept {
  const double before = largest * (2 * angle_error_bound(distance) + 4 * 0x1p-53);
  return stored_element_error(dtype, exact, before + 0x1p-1074);
}

// |element of interpolate_table - exact|. largest: the largest magnitude in the table. A cubic
// weight is at most 1.1. Its terms are at most 15, and their magnitudes sum to at most 40. Each is
// rounded at most three times after the coordinate. So a weight is off by less than 2^-45 and a
// product of two by less than 2^-43. Each of the 16 products with an element may lose 2^-1075.
[[nodiscard]] inline double interpolation_error_bound(DType dtype, double exact,
                                                      double largest) noexcept {
  return stored_element_error(dtype, exact, largest * 0x1p-39 + 0x1p-1071);
}

}  // namespace rotary

#endif  // ROTARY_NUMERIC_CONTRACT_HPP
