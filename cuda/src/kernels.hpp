// SPDX-License-Identifier: Apache-2.0
// The compiled kernels, by the dtypes that they read and write and by the pairs that a thread takes
// at a time: a file for each dtype that is read.
#pragma once

#include "job.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cuda {

// Threads of a block.
inline constexpr int most_threads = 128;

// The kernels, by the calls that they are for.
enum class Way {
  plain,     // pairs that need nothing of each other
  held,      // and heads with a norm, whose elements their threads hold
  whole,     // anything: means over all heads, long heads, pairs that move in place
  few,       // as plain, a decode step
  few_held,  // as held
};

// Heads that a warp takes in a decode step.
inline constexpr int few_heads = 4;

// Tells one kernel that takes a StepJob from another. count: a power of two, at most
// most_at_once(from).
struct KernelChoice {
  DType to;
  int count;
  Way way;
  bool reads_neighbours;
  bool writes_neighbours;
};

using StepKernel = void (*)(StepJob);

// Null if no kernel converts between these dtypes.
[[nodiscard]] StepKernel kernel_of_f32(const KernelChoice& choice) noexcept;
[[nodiscard]] StepKernel kernel_of_bf16(const KernelChoice& choice) noexcept;
[[nodiscard]] StepKernel kernel_of_f16(const KernelChoice& choice) noexcept;

using RowsKernel = void (*)(RowsJob);
[[nodiscard]] RowsKernel kernel_of_rows() noexcept;

// 16 bytes, the widest access.
[[nodiscard]] constexpr int most_at_once(DType from) noexcept { return from == DType::f32 ? 4 : 8; }

}  // namespace rotary::cuda
