// SPDX-License-Identifier: Apache-2.0
// Intervals of shares and of rank correlations, at 95 %.
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

// The statistics of an accuracy: a share of right answers, as if answers were independent of one
// another.
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

// Rank correlation, for answers that are numbers.
// Spearman's: Pearson's correlation of the ranks, where equal values share the mean of theirs.
// Absent where one side has a single value. Requires lists of one length.
[[nodiscard]] std::optional<double> spearman(std::span<const double> one,
                                             std::span<const double> other);

// Its 95 % interval of count > 3 pairs, by Fisher's transformation with the variance
// 1.06 / (count - 3) of Fieller, Hartley and Pearson 1957.
[[nodiscard]] Interval spearman_interval(double correlation, std::int64_t count) noexcept;

}  // namespace rotary::lab
