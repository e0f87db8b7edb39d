// SPDX-License-Identifier: Apache-2.0
// What make_rotations asks of positions before it writes a row. Counts are checked where room is
// made for the rows (rotations_access.hpp).
#pragma once

#include <cstddef>
#include <span>

#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

[[nodiscard]] Status validate(const Positions& positions);

// Each position is an integer within int32, for what computes with such. Requires valid positions.
[[nodiscard]] Status check_int32(const Positions& positions);

// No position lies beyond the longest context that frequencies hold for. Requires valid positions.
[[nodiscard]] Status check_within(const Positions& positions, const ContextRange& contexts);

// Rows are written while positions are still read. Requires valid positions.
[[nodiscard]] Status check_apart(const Positions& positions, std::span<const std::byte> memory);

}  // namespace rotary
