// SPDX-License-Identifier: Apache-2.0
// The larger and the smaller of two numbers. std::max and std::min drop a NaN or keep it by the
// order of their arguments; here NaN stays, so that a comparison with the result fails.
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
