// SPDX-License-Identifier: Apache-2.0
// Who makes the rows of which positions: for numerics exact a kernel, consecutive integers run by
// run, positions between integers one by one, and those of xPos in xpos_rows; for the other
// numerics recipe_rows.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/kernels.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Where rows go, [batch][tokens][cos, sin][lane_stride] elements of this type, and whose they are.
struct RowsMemory {
  std::byte* rows;
  RowDType dtype;
  std::optional<DType> tensors;  // what recipes round to
  std::optional<Role> role;
};

// Requires what make_rotations checks, at least one token, and memory for the rows: without tokens
// the batch may be any. Allocates nothing.
void write_rows(const RowsMemory& memory, const Frequencies& frequencies,
                const Positions& positions, const kernels::KernelTable& kernels) noexcept;

}  // namespace rotary
