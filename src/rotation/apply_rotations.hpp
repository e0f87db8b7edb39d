// SPDX-License-Identifier: Apache-2.0
// The work of rotate() once every check has passed: cannot fail, allocates nothing.
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// From src to dst; the same view twice is in place.
struct Transfer {
  HeadsView dst;
  ConstHeadsView src;
};

void apply_rotations(const Transfer& transfer, const Rotations& rotations, Direction direction,
                     const kernels::KernelTable& kernels) noexcept;

}  // namespace rotary
