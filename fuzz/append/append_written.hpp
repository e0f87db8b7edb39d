// SPDX-License-Identifier: Apache-2.0
// The check of memory after append accepted a case.
#pragma once

#include "fuzz/append/append_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

// Each slot of a token holds what the contract says of its k and v, and every other byte is as it
// was. The slots are put back as they were.
void check_written(const AppendCase& append, const Rotations* rotations, const Memory& memory);

}  // namespace rotary::fuzz
