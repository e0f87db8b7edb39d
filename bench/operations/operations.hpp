// SPDX-License-Identifier: Apache-2.0
// The operations that `rotary bench` times. Each kind has its own file.
#pragma once

#include <span>

#include "bench/line.hpp"

namespace rotary::bench {

// All operations in the order of the report.
[[nodiscard]] std::span<const Operation> operations();

// Rotates q and k: in place by rotate_qk(), or into other tensors by two calls of rotate().
[[nodiscard]] Result<Job> prepare_rotate(const Setup& setup);

// Stores k in a cache: with append(), or by rotating in place and then copying.
[[nodiscard]] Result<Job> prepare_append(const Setup& setup);
[[nodiscard]] Result<Job> prepare_rotate_then_copy(const Setup& setup);

// Shifts cached keys by a constant number of positions.
[[nodiscard]] Result<Job> prepare_shift(const Setup& setup);

// Rotates heads of image patches in place by row and column, in a grid of 128 columns.
[[nodiscard]] Result<Job> prepare_patches(const Setup& setup);

// Makes only cos/sin rows.
[[nodiscard]] Result<Job> prepare_rows(const Setup& setup);

}  // namespace rotary::bench
