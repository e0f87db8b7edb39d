// SPDX-License-Identifier: Apache-2.0
// The larger and the smaller of two numbers, or NaN if one is NaN. (With a NaN, the result of
// std::max and std::min depends on the order of the arguments.)
#pragma once

#include <cmath>

namespace rotary {

[[nodiscard]] inline double larger(double a, double b) noexcept {
  return a >= b || std::isnan(a) ? a : b;  // NaN if b is NaN
}

[[nodiscard]] inline double smaller(double a, double b) noexcept {
  return a <= b || std::isnan(a) ? a : b;
}

}  // namespace rotary
