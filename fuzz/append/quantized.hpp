// SPDX-License-Identifier: Apache-2.0
// Heads that a call has stored in 8 bits, against the float32 numbers that it must have made them
// of: those that the same call stores in a float32 cache, which other cases check.
#pragma once

#include "fuzz/append/append_case.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotations.hpp"

namespace rotary::fuzz {

// Requires a case with a cache in 8 bits. Keys are checked where the rotations turn float32 too.
void check_quantized(const AppendCase& append, const Rotations* rotations, const Memory& memory);

}  // namespace rotary::fuzz
