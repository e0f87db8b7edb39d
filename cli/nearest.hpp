// SPDX-License-Identifier: Apache-2.0
// Which of the names that exist a mistyped one may mean.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rotary::cli {

// Insertions, deletions and replacements that lead from one text to the other (Levenshtein).
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

// "; did you mean --context?" for the name that differs from text in the fewest letters, letter
// case apart; "" where every name differs in more than a third of its letters.
[[nodiscard]] std::string did_you_mean(std::string_view text,
                                       std::span<const std::string_view> names);

}  // namespace rotary::cli
