// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel and the cut of a launch. Knows no device: a plan depends on the call alone.
#pragma once

#include "job.hpp"
#include "kernels.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cuda {

// Pairs that a thread takes at a time: the most, at 16 bytes, that divide the window and at whose
// multiples the heads of every tensor lie.
[[nodiscard]] int pairs_at_once(const StepJob& job, DType from, DType to) noexcept;

// Chooses the way and fills job.cut, for a kernel of `count` pairs at a time. Error: unsupported
// for a window whose rows do not fit in a block's shared memory, and for too many tokens.
[[nodiscard]] Result<Way> plan(StepJob& job, int count);

}  // namespace rotary::cuda
