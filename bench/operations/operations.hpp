// SPDX-License-Identifier: Apache-2.0
// The operations that `rotary bench` times, one row each; one file for each kind prepares them.
#pragma once

#include <span>

#include "bench/line.hpp"

namespace rotary::bench {

// In the order of the report.
[[nodiscard]] std::span<const Operation> operations();

// q and k rotated in place by one call of rotate_qk.
[[nodiscard]] Result<std::unique_ptr<Job>> prepare_in_place(const Setup& setup);

// q and k rotated into other tensors.
[[nodiscard]] Result<std::unique_ptr<Job>> prepare_out_of_place(const Setup& setup);

// Rows of cos and sin, and nothing else.
[[nodiscard]] Result<std::unique_ptr<Job>> prepare_rows(const Setup& setup);

}  // namespace rotary::bench
