// SPDX-License-Identifier: Apache-2.0
// Selects a compiled kernel by KernelChoice and input dtype. Each input dtype has its own file.
#pragma once

#include "job.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cuda {

inline constexpr int most_threads = 128;

// The kinds of kernels, by the work that they support.
enum class Way {
  plain,     // pairs that do not depend on each other
  held,      // also heads with a norm, which threads hold in registers
  whole,     // also norms over all heads, long heads, pairs that move in place
  few,       // plain, for a decode step
  few_held,  // held, for a decode step
};

// Heads that a warp takes in a decode step.
inline constexpr int few_heads = 4;

// Selects a kernel that takes a StepJob. count: a power of two, at most most_at_once(from).
struct KernelChoice {
  DType to;
  int count;
  Way way;
  bool reads_neighbours;
  bool writes_neighbours;
};

using StepKernel = void (*)(StepJob);

// Null if no kernel converts to choice.to.
[[nodiscard]] StepKernel kernel_of_f32(const KernelChoice& choice) noexcept;
[[nodiscard]] StepKernel kernel_of_bf16(const KernelChoice& choice) noexcept;
[[nodiscard]] StepKernel kernel_of_f16(const KernelChoice& choice) noexcept;

using RowsKernel = void (*)(RowsJob);
[[nodiscard]] RowsKernel kernel_of_rows() noexcept;

// Elements in 16 bytes, the widest access.
[[nodiscard]] constexpr int most_at_once(DType from) noexcept { return from == DType::f32 ? 4 : 8; }

}  // namespace rotary::cuda
