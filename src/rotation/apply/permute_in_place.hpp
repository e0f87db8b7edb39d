// SPDX-License-Identifier: Apache-2.0
// Rotates in place when pairs are written in another order than they are read: a kernel alone would
// overwrite features it has yet to read. Uses memory of a fixed size for any length of head.
#pragma once

#include "kernels/kernels.hpp"
#include "rotation/apply/strided_features.hpp"

namespace rotary {

// kernel: for rotation.order and the dtype. Requires a rotation whose src and dst are the same.
void permute_in_place(const StridedRotation& rotation, kernels::Rotate kernel) noexcept;

}  // namespace rotary
