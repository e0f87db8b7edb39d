// SPDX-License-Identifier: Apache-2.0
// Checks the softcap and the masks of a call, and applies them to the rows of a block.
#pragma once

#include <cstdint>
#include <string_view>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/query_block.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "rotary/result.hpp"
#include "tensor/overlap.hpp"

namespace rotary {

[[nodiscard]] Status check_softcap(const AttendCall& call);

// Requires checked extents of q and k.
[[nodiscard]] Status check_pair_masks(const AttendCall& call);

// Checks that written memory shares no element with a mask. Requires check_pair_masks().
[[nodiscard]] Status check_apart_from_masks(std::string_view name, const ElementsView& written,
                                            const AttendCall& call);

// Points the changes of all rows at their masks. Sets no biases. Requires Scratch::changes.
void set_changes(const BlockHead& head);

// Moves the row's bias to the row's changes if there is a softcap: biases are added after the cap.
void put_bias_behind_cap(const BlockContext& block, std::int64_t row);

// The changes of rows from `row` on; none if there is no softcap and no mask.
[[nodiscard]] kernels::ScoreChanges changes_from(const BlockContext& block, std::int64_t row);

}  // namespace rotary
