// SPDX-License-Identifier: Apache-2.0
// The checks of rows and keys after make_shift and shift accepted a case.
#pragma once

#include "fuzz/shift/shift_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

// Checks some of the rows by multiple-precision arithmetic, and whether one row serves all tokens.
void check_rows(const ShiftCase& shift, const Rotations& by);

// Checks that keys are turned by the rows within the bound, and that every other byte is unchanged.
// Restores the keys.
void check_keys(const ShiftCase& shift, const Rotations& by, const Memory& memory);

}  // namespace rotary::fuzz
