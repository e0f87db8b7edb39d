// SPDX-License-Identifier: Apache-2.0
// Rows of xPos: every position by itself, cos and sin in double from a kernel, then the factor of
// the pair and the role.
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
