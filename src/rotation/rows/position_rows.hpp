// SPDX-License-Identifier: Apache-2.0
// Makes rows of cos and sin. With numerics exact, kernels make them: for one axis in
// position_rows.cpp, for several in axis_rows.cpp, for xPos in xpos_rows.cpp. Other numerics use
// recipe_rows.cpp.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/kernels.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// The rows to write, [batch][tokens][cos, sin][lane_stride] of `dtype`, and their later use.
struct RowsMemory {
  std::byte* rows;
  RowDType dtype;
  std::optional<DType> tensors;  // dtype that cos and sin may be rounded to
  std::optional<Role> role;
};

// Writes rows of any kind. Requires all that make_rotations() checks, memory for the rows, and at
// least one token. Like the functions below, allocates nothing.
void write_rows(const RowsMemory& memory, const Frequencies& frequencies,
                const Positions& positions, const kernels::KernelTable& kernels) noexcept;

// Writes rows with factors of xPos. Also requires frequencies.xpos and memory.role.
void write_xpos_rows(const RowsMemory& memory, const Frequencies& frequencies,
                     const Positions& positions, const kernels::KernelTable& kernels) noexcept;

// Writes rows for several axes, dense ones included. Also requires numerics exact.
void write_axis_rows(const RowsMemory& memory, const Frequencies& frequencies,
                     const Positions& positions, const kernels::KernelTable& kernels) noexcept;

// Writes rows rounded as by Transformers or ggml. Also requires such numerics, and f32 rows.
void write_recipe_rows(const RowsMemory& memory, const Frequencies& frequencies,
                       const Positions& positions) noexcept;

}  // namespace rotary
