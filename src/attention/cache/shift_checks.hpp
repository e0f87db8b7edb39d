// SPDX-License-Identifier: Apache-2.0
// What every shift asks of its rotations.
#pragma once

#include "rotary/result.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// They turn keys that are rotated already.
[[nodiscard]] Status check_shift(const Rotations& by);

}  // namespace rotary
