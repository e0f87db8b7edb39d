// SPDX-License-Identifier: Apache-2.0
// Makes rows of cos and sin with the rounding of Transformers and ggml.
#pragma once

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotation/rows/position_rows.hpp"

namespace rotary {

// Requires numerics other than exact, what make_rotations checks, and memory for f32 rows.
// Allocates nothing.
void write_recipe_rows(const RowsMemory& memory, const Frequencies& frequencies,
                       const Positions& positions) noexcept;

}  // namespace rotary
