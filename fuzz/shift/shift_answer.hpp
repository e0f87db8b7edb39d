// SPDX-License-Identifier: Apache-2.0
// The answers that make_shift and shift must give to a case: from the comments of shift.hpp, by
// looking at every position and every element.
#pragma once

#include <cstddef>

#include "fuzz/shift/shift_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

// Every token moves by one whole number of positions, under the same frequencies. Requires sides
// that make_shift accepts.
[[nodiscard]] bool is_one_row(const ShiftSide& from, const ShiftSide& to);

// The answer of make_shift to these options.
[[nodiscard]] Answer expected_of_rows(const ShiftCase& shift, const RotationsOptions& options);

// The answer of shift once there are rotations.
[[nodiscard]] Answer expected_of_keys(const ShiftCase& shift, const Rotations& by,
                                      const std::byte* buffer);

}  // namespace rotary::fuzz
