// SPDX-License-Identifier: Apache-2.0
// Rotated heads of every dtype, compared with exact ones within exactly the bounds of
// include/rotary/numeric_contract.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"

namespace rotary::check {

// The features of pair i in the whole head, before the rotation and after it, which differ for
// interleaved_to_half.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_read(const HeadWindow& window,
                                                                  Direction direction,
                                                                  std::int64_t pair) noexcept;
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_written(const HeadWindow& window,
                                                                     Direction direction,
                                                                     std::int64_t pair) noexcept;

[[nodiscard]] bool turns(const HeadWindow& window, std::int64_t feature) noexcept;

// The rotation of a pair, as its error bound takes it.
struct Rotated {
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  double attention_factor = 1;
  long double position = 0;
  bool by_xpos = false;
  bool flushes = false;  // may store numbers below 2^-126 as 0
  double times = 1;      // the allowed error, in bounds
};

// The unit of errors, relative to hypot(exact pair): the unit roundoff of the arithmetic.
[[nodiscard]] double error_unit(DType dtype) noexcept;

// The allowed error, in units of error_unit times the hypot of the exact pair.
[[nodiscard]] double error_bound(const Rotated& by, long double hypot) noexcept;

// A component's error in units of error_unit times the hypot of the exact pair; 0 for an allowed
// Inf. Infinity, which no bound allows, for a NaN, for any error if the exact pair is 0, and for an
// f16 that is wrongly Inf or wrongly finite.
[[nodiscard]] double error_units(const Rotated& by, double got, long double exact,
                                 long double hypot) noexcept;

// The larger error of both components, and the bound.
struct PairError {
  double units = 0;
  double bound = 0;
};
[[nodiscard]] PairError pair_error(const Rotated& by, const std::array<double, 2>& got,
                                   const std::array<long double, 2>& exact) noexcept;

// The nearest number of the dtype, ties to even.
[[nodiscard]] double rounded(DType dtype, double number);
// Whether an element is this number, rounded once to the dtype. All NaNs are equal.
[[nodiscard]] bool is_rounded(DType dtype, double got, double number);
[[nodiscard]] bool is_stored(const Rotated& by, double got, double number);

// The features of a head: as the call read them, rotated exactly, and rotated by the call.
struct RotatedFeatures {
  std::span<const long double> before;
  std::span<const long double> exact;
  std::span<const double> got;
};

// Names a feature beyond its bound, or is empty. Features that do not turn must be stored as they
// are or rounded once. Skips pairs that the contract does not cover: its numbers are finite and far
// from the limits of the arithmetic.
[[nodiscard]] std::string rotated_fault(
    const HeadWindow& window, const RotatedFeatures& head, Rotated by,
    const std::function<long double(std::int64_t pair)>& position_of);

}  // namespace rotary::check
