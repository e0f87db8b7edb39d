// SPDX-License-Identifier: Apache-2.0
// The larger and the smaller of two numbers, where NaN wins. std::max and std::min keep or drop NaN
// depending on the order of arguments. Here a later comparison with the result fails.
#pragma once

#include <cmath>

namespace rotary {

[[nodiscard]] inline double larger(double a, double b) noexcept {
  return a >= b || std::isnan(a) ? a : b;  // b where it is NaN
}

[[nodiscard]] inline double smaller(double a, double b) noexcept {
  return a <= b || std::isnan(a) ? a : b;
}

}  // namespace rotary
