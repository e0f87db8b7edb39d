// SPDX-License-Identifier: Apache-2.0
// Converts tables, scores and rows of rotations into views and types of the reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/angle.hpp"
#include "reference/tensor.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::check {

using reference::HeadIndex;

[[nodiscard]] ConstHeadsView as_heads(const ConstTableView& table);    // rows are tokens
[[nodiscard]] ConstHeadsView as_heads(const ConstScoresView& scores);  // queries are tokens

[[nodiscard]] std::vector<double> head_at(const ConstHeadsView& view, const HeadIndex& at);

// The cos and sin of each pair from the token's row, which includes the attention factor.
[[nodiscard]] std::vector<reference::CosSin> row_at(const Rotations& rotations, std::int64_t batch,
                                                    std::int64_t token);

// "WHAT: COMPUTED where EXACT is right within BOUND", with the values of the parameters.
[[nodiscard]] std::string fault_text(const std::string& what, double computed, double exact,
                                     double bound);

}  // namespace rotary::check
