// SPDX-License-Identifier: Apache-2.0
// Which kernel makes the rows of which positions: consecutive integers run by run, positions
// between integers one by one.
#pragma once

#include <cstddef>

#include "kernels/kernels.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Where rows go: [batch][tokens][cos, sin][lane_stride] elements of this type.
struct RowsMemory {
  std::byte* rows;
  RowDType dtype;
};

// Requires what make_rotations checks, and memory for the rows. Allocates nothing.
void write_rows(const RowsMemory& memory, const Frequencies& frequencies,
                const Positions& positions, const kernels::KernelTable& kernels) noexcept;

}  // namespace rotary
