// SPDX-License-Identifier: Apache-2.0
// The requirement of every shift on its rotations.
#pragma once

#include "rotary/result.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Refuses rotations that cannot rotate keys which are rotated already.
[[nodiscard]] Status check_shift(const Rotations& by);

}  // namespace rotary
