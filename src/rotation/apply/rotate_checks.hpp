// SPDX-License-Identifier: Apache-2.0
// The requirements of rotate() and rotate_qk() and the messages for those that are broken.
#pragma once

#include "rotary/result.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Both require strides of 0 along extents of 1 (without_unused_strides).
[[nodiscard]] Status check_rotate(const HeadsView& dst, const ConstHeadsView& src,
                                  const Rotations& rotations, Direction direction);
[[nodiscard]] Status check_rotate_qk(const HeadsView& q, const HeadsView& k,
                                     const Rotations& rotations, Direction direction);

}  // namespace rotary
