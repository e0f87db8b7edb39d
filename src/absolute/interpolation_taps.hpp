// SPDX-License-Identifier: Apache-2.0
// Rows of a table, and their weights, that make one row of an interpolated table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rotary/result.hpp"
#include "rotary/table_interpolation.hpp"

namespace rotary {

struct Tap {
  std::int64_t row = 0;
  double weight = 0;
};

struct Taps {
  std::array<Tap, 16> taps;
  std::size_t count = 0;  // at least 1: weights sum to 1
};

// Number of rows of the table that is read and of the one that is written.
struct TableRowCounts {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// Checks that the counts fit the interpolation and each other.
[[nodiscard]] Status check_rows(const TableInterpolation& interpolation,
                                const TableRowCounts& rows);

// Taps of row `row` of the written table. Requires checked counts.
[[nodiscard]] Taps taps_of(const TableInterpolation& interpolation, const TableRowCounts& rows,
                           std::int64_t row) noexcept;

}  // namespace rotary
