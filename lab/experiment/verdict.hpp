// SPDX-License-Identifier: Apache-2.0
// What finished cells say about a claim.
#pragma once

#include <string_view>
#include <vector>

namespace rotary::lab {

enum class Verdict { confirmed, not_visible, contradicted, not_run };

// "confirmed", "not visible at this scale", "contradicted", "not run".
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

// gaps: for each seed, the loss of the encoding that should be higher less that of the lower one.
// confirmed: every gap is at least the margin. contradicted: every gap is at most -margin.
[[nodiscard]] Verdict judge(const std::vector<double>& gaps, double margin) noexcept;

}  // namespace rotary::lab
