// SPDX-License-Identifier: Apache-2.0
// The contract of a rotated pair for every dtype, from rotary/numeric_contract.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "rotary/numeric_contract.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::test {

struct Rotated {
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  double attention_factor = 1;
  long double position = 0;
  bool by_xpos = false;
};

// The unit of errors, relative to hypot(exact pair): the unit roundoff of the arithmetic.
[[nodiscard]] inline double error_unit(DType dtype) noexcept {
  return dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
}

// The allowed error, in units of error_unit times the hypot of the exact pair.
[[nodiscard]] inline double error_bound(const Rotated& by, long double hypot) noexcept {
  switch (by.dtype) {
    case DType::f32:
      return rotate_error_bound(by.direction, by.attention_factor, by.position);
    case DType::bf16:
      return rotate_bf16_error_bound(by.direction, by.attention_factor, by.position);
    case DType::f16:
      return rotate_f16_error_bound(by.direction, by.attention_factor, by.position,
                                    static_cast<double>(hypot));
    case DType::f64:
      return by.by_xpos ? xpos_rotate_f64_error_bound(by.direction, by.position)
                        : rotate_f64_error_bound(by.direction, by.attention_factor, by.position);
  }
  return 0;
}

// A component's error in units of error_unit times the hypot of the exact pair; 0 for an allowed
// Inf. Infinity, which no bound allows, for a NaN, for any error if the exact pair is 0, and for an
// f16 that is wrongly Inf or wrongly finite.
[[nodiscard]] inline double error_units(const Rotated& by, double got, long double exact,
                                        long double hypot) noexcept {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (by.dtype == DType::f16) {
    const long double float_error =
        0x1p-24L * hypot * rotate_error_bound(by.direction, by.attention_factor, by.position);
    const bool may_be_infinite = std::abs(exact) + float_error >= f16_overflow;
    const bool must_be_infinite = std::abs(exact) - float_error >= f16_overflow;
    if (std::isinf(got)) return may_be_infinite && (got > 0) == (exact > 0) ? 0 : wrong;
    if (must_be_infinite) return wrong;
  }
  const long double error = std::abs(got - exact);
  if (error == 0) return 0;
  return hypot == 0 || std::isnan(error)
             ? wrong
             : static_cast<double>(error / (error_unit(by.dtype) * hypot));
}

// The larger error of both components, and the bound.
struct PairError {
  double units = 0;
  double bound = 0;
};

[[nodiscard]] inline PairError pair_error(const Rotated& by, const std::array<double, 2>& got,
                                          const std::array<long double, 2>& exact) noexcept {
  const long double hypot = std::hypot(exact[0], exact[1]);
  return {.units = std::max(error_units(by, got[0], exact[0], hypot),
                            error_units(by, got[1], exact[1], hypot)),
          .bound = hypot == 0 ? 0 : error_bound(by, hypot)};
}

}  // namespace rotary::test
