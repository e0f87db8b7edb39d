// SPDX-License-Identifier: Apache-2.0
// Does the work of rotate() after all checks: cannot fail, allocates nothing.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"
#include "runtime/parts.hpp"

namespace rotary {

// Rotates from src to dst; in place if both are the same view.
struct Transfer {
  HeadsView dst;
  ConstHeadsView src;
};

// The kernel for elements of this dtype with the rounding of these rotations.
[[nodiscard]] kernels::Rotate kernel_for(const kernels::RotateKernels& kernels,
                                         const Rotations& rotations, DType dtype) noexcept;

// Address of a token's row: cos of pair 0.
[[nodiscard]] const void* row_of(const Rotations& rotations, std::int64_t batch,
                                 std::int64_t token) noexcept;

// Reads and writes only tokens of the range. Requires a range within the transfer.
void apply_rotations(const Transfer& transfer, const Rotations& rotations, Direction direction,
                     const kernels::KernelTable& kernels, TokenRange range) noexcept;

}  // namespace rotary
