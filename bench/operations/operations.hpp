// SPDX-License-Identifier: Apache-2.0
// The operations that `rotary bench` times, one row each; one file for each kind prepares them.
#pragma once

#include <span>

#include "bench/line.hpp"

namespace rotary::bench {

// In the order of the report.
[[nodiscard]] std::span<const Operation> operations();

// q and k rotated in place by one call of rotate_qk, or, by its family, into other tensors.
[[nodiscard]] Result<Job> prepare_rotate(const Setup& setup);

// k stored in a cache: rotated on the way, or in place before.
[[nodiscard]] Result<Job> prepare_append(const Setup& setup);
[[nodiscard]] Result<Job> prepare_rotate_then_copy(const Setup& setup);

// Cached keys shifted by a constant number of positions.
[[nodiscard]] Result<Job> prepare_shift(const Setup& setup);

// Heads of the patches of an image rotated in place by their row and column, in a grid of 128
// columns.
[[nodiscard]] Result<Job> prepare_patches(const Setup& setup);

// Rows of cos and sin alone.
[[nodiscard]] Result<Job> prepare_rows(const Setup& setup);

}  // namespace rotary::bench
