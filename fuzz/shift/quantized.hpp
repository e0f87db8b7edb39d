// SPDX-License-Identifier: Apache-2.0
// Keys in 8 bits that a call has turned, against the same in long double.
#pragma once

#include "fuzz/strided.hpp"
#include "rotary/shift.hpp"

namespace rotary::fuzz {

void check_quantized(const QuantizedHeadsView& keys, const Rotations& by, const Memory& memory);

}  // namespace rotary::fuzz
