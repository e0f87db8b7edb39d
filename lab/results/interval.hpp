// SPDX-License-Identifier: Apache-2.0
// 95 % confidence intervals of a mean.
#pragma once

#include <optional>
#include <span>

namespace rotary::lab {

struct Interval {
  double low = 0;
  double high = 0;
};

// Student's t for independent normal values, with one degree of freedom less than their number.
// Absent for fewer than two.
[[nodiscard]] std::optional<Interval> t_interval(std::span<const double> values) noexcept;

// Bootstrap (Efron 1979), percentiles of the means of 10,000 resamples; for paired differences it
// is the paired bootstrap. Always the same for the same values. Absent for fewer than eight, of
// which a resample tells little.
[[nodiscard]] std::optional<Interval> bootstrap_interval(std::span<const double> values);

}  // namespace rotary::lab
