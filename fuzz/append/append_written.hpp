// SPDX-License-Identifier: Apache-2.0
// The check of memory after append accepted a case.
#pragma once

#include "fuzz/append/append_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

// Checks that each slot of a token holds the values that the contract requires for its k and v, and
// that every other byte is unchanged. Restores the slots.
void check_written(const AppendCase& append, const Rotations* rotations, const Memory& memory);

}  // namespace rotary::fuzz
