// SPDX-License-Identifier: Apache-2.0
// Rank correlation, for answers that are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lab/experiment/confidence.hpp"

namespace rotary::lab {

// Spearman's: Pearson's correlation of the ranks, where equal values share the mean of theirs.
// Absent where one side has a single value. Requires lists of one length.
[[nodiscard]] std::optional<double> spearman(std::span<const double> one,
                                             std::span<const double> other);

// Its 95 % interval of count > 3 pairs, by Fisher's transformation with the variance
// 1.06 / (count - 3) of Fieller, Hartley and Pearson 1957.
[[nodiscard]] Interval spearman_interval(double correlation, std::int64_t count) noexcept;

}  // namespace rotary::lab
