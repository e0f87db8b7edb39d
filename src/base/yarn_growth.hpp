// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace rotary {

// g(m) of YaRN's paper, eq. 22, with the multiplier m from DeepSeek's configs.
[[nodiscard]] inline double yarn_growth(double factor, double multiplier = 1) {
  return factor <= 1 ? 1 : 0.1 * multiplier * std::log(factor) + 1;
}

}  // namespace rotary
