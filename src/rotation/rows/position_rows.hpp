// SPDX-License-Identifier: Apache-2.0
// Chooses how rows are made. With numerics exact, a kernel makes them: runs of consecutive integers
// and single fractional positions in position_rows.cpp, several axes in axis_rows.cpp, xPos in
// xpos_rows.cpp. All other numerics use recipe_rows.cpp.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/kernels.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Destination and users of rows: [batch][tokens][cos, sin][lane_stride] elements of `dtype`.
struct RowsMemory {
  std::byte* rows;
  RowDType dtype;
  std::optional<DType> tensors;  // dtype that cos and sin may be rounded to
  std::optional<Role> role;
};

// Requires all that make_rotations() checks, memory for the rows, and at least one token (without
// tokens the batch may be any number). Allocates nothing.
void write_rows(const RowsMemory& memory, const Frequencies& frequencies,
                const Positions& positions, const kernels::KernelTable& kernels) noexcept;

// For xPos: makes cos and sin in double for each position, then applies the factor of pair and
// role. Also requires frequencies.xpos and memory.role. Allocates nothing.
void write_xpos_rows(const RowsMemory& memory, const Frequencies& frequencies,
                     const Positions& positions, const kernels::KernelTable& kernels) noexcept;

// For several axes, and for dense axes. Also requires numerics exact. Allocates nothing.
void write_axis_rows(const RowsMemory& memory, const Frequencies& frequencies,
                     const Positions& positions, const kernels::KernelTable& kernels) noexcept;

// Rounds as Transformers or ggml does. Also requires numerics other than exact, and f32 rows.
// Allocates nothing.
void write_recipe_rows(const RowsMemory& memory, const Frequencies& frequencies,
                       const Positions& positions) noexcept;

}  // namespace rotary
