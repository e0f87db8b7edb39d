// SPDX-License-Identifier: Apache-2.0
// The answer that shift and make_shift must give, and what they must write.
#pragma once

#include <cstddef>

#include "fuzz/shift/shift_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

// True if every token moves by one whole number of positions under the same frequencies. Requires
// sides that make_shift accepts.
[[nodiscard]] bool is_one_row(const ShiftSide& from, const ShiftSide& to);

// The answer that make_shift must give for these options.
[[nodiscard]] Answer expected_of_rows(const ShiftCase& shift, const RotationsOptions& options);

// The answer that shift must give for existing rotations.
[[nodiscard]] Answer expected_of_keys(const ShiftCase& shift, const Rotations& by,
                                      const std::byte* buffer);

// After make_shift and shift have accepted a case, checks some rows with multiple precision, and
// that one row serves all tokens when it may.
void check_rows(const ShiftCase& shift, const Rotations& by);

// Checks that the rows rotate keys within the bound and that every other byte is unchanged.
// Restores the keys.
void check_keys(const ShiftCase& shift, const Rotations& by, const Memory& memory);

}  // namespace rotary::fuzz
