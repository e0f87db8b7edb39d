// SPDX-License-Identifier: Apache-2.0
// The angle position * inv_freq, which no double holds once the position is large, and its cos and
// sin. Multiple-precision arithmetic (MPFR) makes each correctly rounded at every int64 position.
#pragma once

#include <cstdint>

namespace rotary::reference {

struct CosSin {
  long double cos = 1;
  long double sin = 0;
};

// inv_freq: radians per position, finite.
[[nodiscard]] CosSin cos_sin(std::int64_t position, double inv_freq);

}  // namespace rotary::reference
