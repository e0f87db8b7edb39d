// SPDX-License-Identifier: Apache-2.0
// Finds a position at which two explanations of the same numbers visibly differ.
#pragma once

#include <cstdint>
#include <optional>

#include "identify/edits.hpp"
#include "identify/operation.hpp"

namespace rotary::identification {

// The coordinates to try. grid: axes have different ones, of which the first is the position.
enum class Coordinates { equal, grid };

// A position at which the results of two operations on the sample's longest vector differ by more
// than rounding. Searches upwards in growing steps, then bisects.
[[nodiscard]] std::optional<std::int64_t> first_visible(const Operation& one,
                                                        const Operation& other, const Start& start,
                                                        Coordinates coordinates);

}  // namespace rotary::identification
