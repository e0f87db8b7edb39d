// SPDX-License-Identifier: Apache-2.0
// Whether rotations may turn these heads, from the comments of rotate.hpp.
#pragma once

#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

[[nodiscard]] inline bool fit(const Extents& n, const Rotations& rotations) {
  return n.features == rotations.window().head_dim && n.tokens == rotations.tokens() &&
         (rotations.batch() == 1 || n.batch == rotations.batch());
}

[[nodiscard]] inline bool fits(const ConstHeadsView& view, const Rotations& rotations) {
  return fit(view.extents, rotations) &&
         (view.dtype == DType::f64) == (rotations.row_dtype() == RowDType::f64) &&
         (!rotations.tensors() || *rotations.tensors() == view.dtype);
}

}  // namespace rotary::fuzz
