// SPDX-License-Identifier: Apache-2.0
// Positions that are not those expected, in words: runs of tokens, and the mistake that leaves such
// a pattern.
#pragma once

#include <string_view>
#include <vector>

#include "rotary/identify.hpp"

namespace rotary::identification {

// The name of the hypothesis whose pattern this is; "token_positions" where none is. Requires a
// token that stands elsewhere.
[[nodiscard]] std::string_view pattern_of(const ReadPositions& positions);

// The runs of tokens that stand elsewhere in one way, the first of each row and axis first.
[[nodiscard]] std::vector<FieldDifference> runs_of(const ReadPositions& positions);

}  // namespace rotary::identification
