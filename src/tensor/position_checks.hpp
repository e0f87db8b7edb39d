// SPDX-License-Identifier: Apache-2.0
// Checks of positions, except for counts, which rotations_access.hpp checks.
#pragma once

#include <cstddef>
#include <span>

#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// axes: the number of axes of the frequencies. Positions must have this number of axes, or one.
[[nodiscard]] Status validate(const Positions& positions, std::int64_t axes = 1);

// Checks that each position is an integer within int32. Requires valid positions.
[[nodiscard]] Status check_int32(const Positions& positions);

// Checks that positions are below the longest context of the frequencies. Requires valid positions.
[[nodiscard]] Status check_within(const Positions& positions, const ContextRange& contexts);

// Checks that rows in `memory` do not overlap the positions. Requires valid positions.
[[nodiscard]] Status check_apart(const Positions& positions, std::span<const std::byte> memory);

}  // namespace rotary
