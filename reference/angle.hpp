// SPDX-License-Identifier: Apache-2.0
// cos and sin of position * inv_freq, an angle that no double holds exactly at large positions.
// Multiple-precision arithmetic (MPFR) rounds them correctly at every int64 or double position.
#pragma once

#include <span>

namespace rotary::reference {

struct CosSin {
  long double cos = 1;
  long double sin = 0;
};

// A position and its frequency; a long double holds every int64 and every double.
struct Angle {
  long double position = 0;
  double inv_freq = 0;  // radians per position
};

// Requires finite numbers.
[[nodiscard]] CosSin cos_sin(long double position, double inv_freq);

// cos and sin of the sum of all position * inv_freq.
[[nodiscard]] CosSin cos_sin_of_sum(std::span<const Angle> angles);

// cos and sin of to.position * to.inv_freq - from.position * from.inv_freq.
[[nodiscard]] CosSin cos_sin_between(const Angle& from, const Angle& to);

}  // namespace rotary::reference
