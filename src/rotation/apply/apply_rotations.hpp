// SPDX-License-Identifier: Apache-2.0
// The part of rotate() that follows all checks. It cannot fail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"
#include "runtime/parts.hpp"

namespace rotary {

// Distances in bytes between features of a head.
struct ElementBytes {
  std::int64_t src;
  std::int64_t dst;
};

// The kernel for this dtype and for the rounding of these rotations.
[[nodiscard]] kernels::Rotate kernel_for(const kernels::RotateKernels& kernels,
                                         const Rotations& rotations, DType dtype) noexcept;

// Address of a token's row, which begins with the cos of pair 0.
[[nodiscard]] const void* row_of(const Rotations& rotations, std::int64_t batch,
                                 std::int64_t token) noexcept;

// Calls rotate() for each block of the window (HeadWindow::blocks). `job` is for the whole window.
template <class Rotate>
void for_each_block(const kernels::RotateJob& job, const Rotations& rotations,
                    const ElementBytes& bytes, const Rotate& rotate) {
  const std::int64_t blocks = rotations.window().blocks;
  if (blocks == 1) {
    rotate(job);
    return;
  }
  kernels::RotateJob part = job;
  part.pairs /= blocks;
  const std::int64_t row_bytes = rotations.row_dtype() == RowDType::f64 ? 8 : 4;
  for (std::int64_t block = 0; block < blocks; ++block) {
    rotate(part);
    part.src = static_cast<const std::byte*>(part.src) + 2 * part.pairs * bytes.src;
    part.dst = static_cast<std::byte*>(part.dst) + 2 * part.pairs * bytes.dst;
    part.rows = static_cast<const std::byte*>(part.rows) + part.pairs * row_bytes;
  }
}

// Rotates the tokens of the range, which must be within the transfer.
void apply_rotations(const Transfer& transfer, const Rotations& rotations, Direction direction,
                     const kernels::KernelTable& kernels, TokenRange range) noexcept;

}  // namespace rotary
