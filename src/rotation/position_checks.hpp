// SPDX-License-Identifier: Apache-2.0
// What make_rotations asks of positions before it writes a row. Counts are checked where room is
// made for the rows (rotations_access.hpp).
#pragma once

#include "rotary/positions.hpp"
#include "rotary/result.hpp"

namespace rotary {

[[nodiscard]] Status validate(const Positions& positions);

}  // namespace rotary
