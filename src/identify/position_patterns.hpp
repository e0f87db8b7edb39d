// SPDX-License-Identifier: Apache-2.0
// Describes positions that differ from the expected ones: the runs of tokens, and the mistake that
// causes such a pattern.
#pragma once

#include <string_view>
#include <vector>

#include "rotary/identify.hpp"

namespace rotary::identification {

// The name of the hypothesis that causes this pattern, else "token_positions". At least one token
// must have another position than expected.
[[nodiscard]] std::string_view pattern_of(const ReadPositions& positions);

// The runs of tokens that differ from their expected positions in the same way, the first run of
// each row and axis first.
[[nodiscard]] std::vector<FieldDifference> runs_of(const ReadPositions& positions);

}  // namespace rotary::identification
