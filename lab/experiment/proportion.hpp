// SPDX-License-Identifier: Apache-2.0
// The statistics of an accuracy: a share of right answers, as if answers were independent of one
// another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lab/experiment/confidence.hpp"

namespace rotary::lab {

// The 95 % interval of the true share (Wilson 1927), out of count > 0 answers.
[[nodiscard]] inline Interval wilson_interval(std::int64_t right, std::int64_t count) noexcept {
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 %
  const auto n = static_cast<double>(count);
  const double share = static_cast<double>(right) / n;
  const double center = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double reach =
      z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  // A share of 0 or 1 is a border of its own interval, which rounding must not move.
  return {.low = std::min(center - reach, share), .high = std::max(center + reach, share)};
}

}  // namespace rotary::lab
