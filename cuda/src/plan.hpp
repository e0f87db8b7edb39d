// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel and the cut of a launch. A plan depends only on the call, not on the device.
#pragma once

#include <cstdint>
#include <limits>

#include "job.hpp"
#include "kernels.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cuda {

// The dtypes that a kernel reads and writes.
struct Conversion {
  DType from;
  DType to;
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

// A planned launch, which only CUDA can still refuse.
struct Step {
  StepJob job;
  DType from;
  KernelChoice kernel;
};

// Chooses the kernel and fills job.cut. Error: unsupported for too many tokens, or if rows, sums
// and staged heads do not fit in a block's shared memory.
[[nodiscard]] Result<Step> planned(StepJob job, const Conversion& conversion);

// Kernels count batch rows, tokens, blocks and slots in 32 bits.
inline constexpr std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max();

// Checks that a launch can count these tokens. Requires a batch of at least 1.
[[nodiscard]] Status check_count(std::int64_t batch, std::int64_t tokens);

}  // namespace rotary::cuda
