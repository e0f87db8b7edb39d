// SPDX-License-Identifier: Apache-2.0
// Checks of a caller's rows of cos and sin, except for their values.
#pragma once

#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Views the cos or sin at `elements` as one head whose features are pairs.
[[nodiscard]] ConstHeadsView heads_view(const void* elements, const CosSinView& rows,
                                        std::int64_t pairs);

// Checks the view of rows. made: the dtype of the rotations' rows. Requires a valid window.
[[nodiscard]] Status check_rows(const HeadWindow& window, const CosSinView& rows, RowDType made);

}  // namespace rotary
