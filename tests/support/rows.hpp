// SPDX-License-Identifier: Apache-2.0
// Compares rows of cos and sin with MPFR, and returns their bits.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"

namespace rotary::test {

inline constexpr RowDType all_row_dtypes[] = {RowDType::f32, RowDType::f64};

// Checks every element of make_rotations()' rows against the bound of numeric_contract.hpp.
[[nodiscard]] testing::AssertionResult rows_within_bound(const Frequencies& frequencies,
                                                         const Positions& positions, RowDType rows);

// One token's cos bits, then its sin bits.
[[nodiscard]] std::vector<std::uint64_t> row_bits(const Rotations& rotations, std::int64_t batch,
                                                  std::int64_t token);

// The bits of all tokens: [batch][tokens][cos, sin][pairs].
[[nodiscard]] std::vector<std::uint64_t> all_row_bits(const Rotations& rotations);

}  // namespace rotary::test
