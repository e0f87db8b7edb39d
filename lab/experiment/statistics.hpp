// SPDX-License-Identifier: Apache-2.0
// 95 % intervals of shares and rank correlations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rotary::lab {

// A 95 % confidence interval.
struct Interval {
  double low = 0;
  double high = 0;
};

// Statistics of an accuracy, as if answers were independent.
// The 95 % interval of the true share (Wilson 1927), for count > 0 answers.
[[nodiscard]] inline Interval wilson_interval(std::int64_t right, std::int64_t count) noexcept {
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 %
  const auto n = static_cast<double>(count);
  const double share = static_cast<double>(right) / n;
  const double center = (share + z * z / (2 * n)) / (1 + z * z / n);
  const double reach =
      z / (1 + z * z / n) * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  // A share of 0 or 1 bounds its own interval; rounding must not move it.
  return {.low = std::min(center - reach, share), .high = std::max(center + reach, share)};
}

// Spearman's rank correlation for numeric answers: Pearson's correlation of ranks, where equal
// values share their mean rank. Absent if one side has a single value. Lists must have equal
// length.
[[nodiscard]] std::optional<double> spearman(std::span<const double> one,
                                             std::span<const double> other);

// The 95 % interval of a Spearman correlation of count > 3 pairs: Fisher's transformation with
// variance 1.06 / (count - 3) (Fieller, Hartley and Pearson 1957).
[[nodiscard]] Interval spearman_interval(double correlation, std::int64_t count) noexcept;

}  // namespace rotary::lab
