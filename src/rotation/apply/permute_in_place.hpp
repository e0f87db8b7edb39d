// SPDX-License-Identifier: Apache-2.0
// Rotations that write pairs in another order than they read them, in place: a kernel alone would
// write over what it has yet to read. In memory of a fixed size, at any length of head.
#pragma once

#include "kernels/kernels.hpp"
#include "rotation/apply/strided_features.hpp"

namespace rotary {

// kernel: of rotation.order and the dtype. Requires src and dst of the rotation to be the same.
void permute_in_place(const StridedRotation& rotation, kernels::Rotate kernel) noexcept;

}  // namespace rotary
