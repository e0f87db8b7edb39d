// SPDX-License-Identifier: Apache-2.0
// The work of rotate() once every check has passed: cannot fail, allocates nothing.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"
#include "runtime/parts.hpp"

namespace rotary {

// From src to dst; the same view twice is in place.
struct Transfer {
  HeadsView dst;
  ConstHeadsView src;
};

// The kernel for elements of dtype, read and written so, as these rotations round.
[[nodiscard]] kernels::Rotate kernel_for(const kernels::RotateKernels& kernels,
                                         const Rotations& rotations, DType dtype) noexcept;

// The first element of one token's row, cos of pair 0.
[[nodiscard]] const void* row_of(const Rotations& rotations, std::int64_t batch,
                                 std::int64_t token) noexcept;

// Reads and writes no token outside the range, which lies within the transfer.
void apply_rotations(const Transfer& transfer, const Rotations& rotations, Direction direction,
                     const kernels::KernelTable& kernels, TokenRange range) noexcept;

}  // namespace rotary
