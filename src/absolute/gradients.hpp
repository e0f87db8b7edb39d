// SPDX-License-Identifier: Apache-2.0
// What gradients of tables have in common: sums in a fixed order, each rounded to the gradient's
// dtype.
#pragma once

#include "rotary/result.hpp"
#include "rotary/tokens_view.hpp"
#include "tensor/element_runs.hpp"

namespace rotary {

// gradient is a table that can be written, of f32 or f64, upstream a view of as many features and
// of no wider dtype, apart from it.
[[nodiscard]] Status check_gradient(const TableView& gradient, const ConstTokensView& upstream);

// to += values, as many as the run has.
void add_to_run(const double* values, const ElementRun& to) noexcept;

}  // namespace rotary
