// SPDX-License-Identifier: Apache-2.0
// Compares rotated heads of every dtype with exact ones, within the bounds of
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

// The head's features that hold a pair, before the rotation (read) and after it (written). The two
// functions differ only for interleaved_to_half.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_read(const HeadWindow& window,
                                                                  Direction direction,
                                                                  std::int64_t pair) noexcept;
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_written(const HeadWindow& window,
                                                                     Direction direction,
                                                                     std::int64_t pair) noexcept;

[[nodiscard]] bool turns(const HeadWindow& window, std::int64_t feature) noexcept;

// The properties of a rotation that the error bound depends on.
struct Rotated {
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  double attention_factor = 1;
  long double position = 0;
  bool by_xpos = false;
  bool flushes = false;  // may store numbers below 2^-126 as 0
};

// The unit of errors, relative to hypot(exact pair): the unit roundoff of the arithmetic.
[[nodiscard]] double error_unit(DType dtype) noexcept;

// The allowed error, in units of error_unit times the hypot of the exact pair.
[[nodiscard]] double error_bound(const Rotated& by, long double hypot) noexcept;

// A component's error in units of error_unit times the hypot of the exact pair; 0 for an allowed
// Inf. The error is infinite for a NaN, for a nonzero result of an exact pair of 0, and for an f16
// that is wrongly Inf or wrongly finite.
[[nodiscard]] double error_units(const Rotated& by, double got, long double exact,
                                 long double hypot) noexcept;

// The larger error of the two components, and its bound.
struct PairError {
  double units = 0;
  double bound = 0;
};
[[nodiscard]] PairError pair_error(const Rotated& by, const std::array<double, 2>& got,
                                   const std::array<long double, 2>& exact) noexcept;

// The nearest number of the dtype, ties to even.
[[nodiscard]] double rounded(DType dtype, double number);
// Whether `got` is this number, rounded once. All NaNs are equal. is_stored() also accepts flushes.
[[nodiscard]] bool is_rounded(DType dtype, double got, double number);
[[nodiscard]] bool is_stored(const Rotated& by, double got, double number);

// The features of a head: as the call read them, rotated exactly, and rotated by the call.
struct RotatedFeatures {
  std::span<const long double> before;
  std::span<const long double> exact;
  std::span<const double> got;
};

// Names the first feature beyond its bound; empty if there is none. Unrotated features must be
// copied or rounded once. Skips pairs that the contract does not cover: not finite, or near the
// limits of the arithmetic.
[[nodiscard]] std::string rotated_fault(
    const HeadWindow& window, const RotatedFeatures& head, Rotated by,
    const std::function<long double(std::int64_t pair)>& position_of);

}  // namespace rotary::check
