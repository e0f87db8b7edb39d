// SPDX-License-Identifier: Apache-2.0
// The verdict of finished cells on a claim: that one measure is below another by at least a margin.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "lab/results/interval.hpp"

namespace rotary::lab {

enum class Verdict { confirmed, not_visible, contradicted, not_run };

// "confirmed", "not visible at this scale", "contradicted", "not run".
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

// gaps: for each seed, the measure that should be higher minus the one that should be lower.
// interval: of their mean, if there is one.
//
// A margin above 0 is the least effect that counts: confirmed if every gap is at least the margin
// and the interval is above 0; contradicted if every gap is at most -margin, the opposite effect,
// and the interval is below 0. A margin below 0 is a difference that is still as good: confirmed if
// every gap and the interval are at least the margin, contradicted if all of them are below it.
[[nodiscard]] Verdict judge(std::span<const double> gaps, const std::optional<Interval>& interval,
                            double margin) noexcept;

}  // namespace rotary::lab
