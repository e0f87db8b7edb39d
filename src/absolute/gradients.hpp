// SPDX-License-Identifier: Apache-2.0
// Shared by all gradients of tables: sums in a fixed order, each rounded to the gradient's dtype.
#pragma once

#include "rotary/result.hpp"
#include "rotary/tokens_view.hpp"
#include "tensor/element_runs.hpp"

namespace rotary {

// Checks that gradient is a writable table of f32 or f64, that upstream has as many features and no
// wider dtype, and that the two do not overlap.
[[nodiscard]] Status check_gradient(const TableView& gradient, const ConstTokensView& upstream);

// to += values, for all elements of the run.
void add_to_run(const double* values, const ElementRun& to) noexcept;

}  // namespace rotary
