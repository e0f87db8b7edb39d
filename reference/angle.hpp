// SPDX-License-Identifier: Apache-2.0
// The angle position * inv_freq, which no double holds once the position is large, and its cos and
// sin. Multiple-precision arithmetic (MPFR) makes each correctly rounded at every int64 or double
// position.
#pragma once

#include <concepts>
#include <cstdint>

namespace rotary::reference {

struct CosSin {
  long double cos = 1;
  long double sin = 0;
};

// inv_freq: radians per position, finite.
[[nodiscard]] CosSin cos_sin(std::int64_t position, double inv_freq);

// At a position that may lie between integers; finite. (A template, so that an int is no double.)
[[nodiscard]] CosSin cos_sin(std::same_as<double> auto position, double inv_freq);

// A position, which long double holds whether it is an int64 or a double, and its frequency.
struct Angle {
  long double position = 0;
  double inv_freq = 0;  // radians per position
};

// Of the angle from one to the other, to.position * to.inv_freq - from.position * from.inv_freq.
[[nodiscard]] CosSin cos_sin_between(const Angle& from, const Angle& to);

}  // namespace rotary::reference
