// SPDX-License-Identifier: Apache-2.0
// The answer that shift and make_shift must give, and what they must write.
#pragma once

#include <cstddef>

#include "fuzz/shift/shift_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

// The answers that make_shift and shift must give to a case: from the comments of shift.hpp, by
// looking at every position and every element.
// Every token moves by one whole number of positions, under the same frequencies. Requires sides
// that make_shift accepts.
[[nodiscard]] bool is_one_row(const ShiftSide& from, const ShiftSide& to);

// The answer of make_shift to these options.
[[nodiscard]] Answer expected_of_rows(const ShiftCase& shift, const RotationsOptions& options);

// The answer of shift once there are rotations.
[[nodiscard]] Answer expected_of_keys(const ShiftCase& shift, const Rotations& by,
                                      const std::byte* buffer);

// The checks of rows and keys after make_shift and shift accepted a case.
// Checks some of the rows by multiple-precision arithmetic, and whether one row serves all tokens.
void check_rows(const ShiftCase& shift, const Rotations& by);

// Checks that keys are turned by the rows within the bound, and that every other byte is unchanged.
// Restores the keys.
void check_keys(const ShiftCase& shift, const Rotations& by, const Memory& memory);

}  // namespace rotary::fuzz
