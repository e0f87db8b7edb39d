// SPDX-License-Identifier: Apache-2.0
// Keys of a cache that were moved to other positions.
#pragma once

#include <optional>

#include "identify/edits.hpp"
#include "identify/operation.hpp"

namespace rotary::identification {

// The sample as what was done to it after the configured rotation, if that is one for all tokens,
// which are then heads of one.
[[nodiscard]] std::optional<Sample> moved_alike(const Start& start);

// Keys that were moved by the frequencies of an edit, whose turning this is, in place of their own.
[[nodiscard]] std::optional<Edit> shift_by_other(const Start& start, const Sample& moved,
                                                 const Edit& edit, const Turning& other);

// That each number was rounded more than once, as keys are that are shifted again and again: the
// configured rotation and noise in every pair, along the pair's vector and across it. A wrong angle
// errs across it alone, a wrong factor along it. Absent for anything else.
[[nodiscard]] std::optional<Edit> more_roundings(const Start& start);

}  // namespace rotary::identification
