// SPDX-License-Identifier: Apache-2.0
// Every requirement of rotate() and rotate_qk(), with the words for the one that is broken.
#pragma once

#include "rotary/result.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Require strides of 0 on single indices (without_unused_strides).
[[nodiscard]] Status check_rotate(const HeadsView& dst, const ConstHeadsView& src,
                                  const Rotations& rotations, Direction direction);
[[nodiscard]] Status check_rotate_qk(const HeadsView& q, const HeadsView& k,
                                     const Rotations& rotations, Direction direction);

}  // namespace rotary
