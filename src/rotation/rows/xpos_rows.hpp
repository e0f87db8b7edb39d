// SPDX-License-Identifier: Apache-2.0
// Makes rows for xPos, each position by itself: a kernel makes cos and sin in double, then the
// factor of the pair and role is applied.
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotation/rows/position_rows.hpp"

namespace rotary {

// Requires what make_rotations checks, frequencies.xpos and memory.role. Allocates nothing.
void write_xpos_rows(const RowsMemory& memory, const Frequencies& frequencies,
                     const Positions& positions, const kernels::KernelTable& kernels) noexcept;

}  // namespace rotary
