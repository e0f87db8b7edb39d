// SPDX-License-Identifier: Apache-2.0
// Describes positions that differ from the expected ones: the runs of differing tokens, and the
// mistake that explains them.
#pragma once

#include <string_view>
#include <vector>

#include "rotary/identify.hpp"

namespace rotary::identification {

// The name of the hypothesis that explains the positions, else "token_positions". Requires a token
// whose position is not the expected one.
[[nodiscard]] std::string_view pattern_of(const ReadPositions& positions);

// The runs of tokens that differ from their expected positions in the same way, in order of axis,
// row and token. If runs are left out, a last field counts them.
[[nodiscard]] std::vector<FieldDifference> runs_of(const ReadPositions& positions);

}  // namespace rotary::identification
