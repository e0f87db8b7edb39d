// SPDX-License-Identifier: Apache-2.0
// 95 % confidence intervals of a mean.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "lab/experiment/confidence.hpp"

namespace rotary::lab {

// Student's t for independent normal values, with one degree of freedom less than their number.
// Absent for fewer than two.
[[nodiscard]] std::optional<Interval> t_interval(std::span<const double> values) noexcept;

// A resample of fewer values tells little.
inline constexpr std::size_t least_windows = 8;

// Bootstrap (Efron 1979), percentiles of the means of 10,000 resamples; for paired differences it
// is the paired bootstrap. Always the same for the same values. Absent for fewer than
// least_windows.
[[nodiscard]] std::optional<Interval> bootstrap_interval(std::span<const double> values);

}  // namespace rotary::lab
