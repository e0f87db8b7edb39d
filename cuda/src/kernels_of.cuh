// SPDX-License-Identifier: Apache-2.0
// Selects the kernel for one pair of dtypes.
#pragma once

#include "kernels.hpp"
#include "step_kernel.cuh"

namespace rotary::cuda {

template <class In, class Out, int Count, Way way>
StepKernel step_kernel_of(const KernelChoice& choice) {
  constexpr auto halves = Features::halves;
  constexpr auto neighbours = Features::neighbours;
  if (!choice.reads_neighbours) {
    return choice.writes_neighbours ? step_kernel<In, Out, Count, way, halves, neighbours>
                                    : step_kernel<In, Out, Count, way, halves, halves>;
  }
  return choice.writes_neighbours ? step_kernel<In, Out, Count, way, neighbours, neighbours>
                                  : step_kernel<In, Out, Count, way, neighbours, halves>;
}

template <class In, class Out, int Count>
StepKernel step_kernel_of(const KernelChoice& choice) {
  if (choice.way == Way::plain) return step_kernel_of<In, Out, Count, Way::plain>(choice);
  if constexpr (Count >= 4) {
    if (choice.way == Way::held) return step_kernel_of<In, Out, Count, Way::held>(choice);
  }
  return step_kernel_of<In, Out, Count, Way::whole>(choice);
}

template <class In, class Out>
StepKernel step_kernel_of(const KernelChoice& choice) {
  if (choice.way == Way::few) return step_kernel_of<In, Out, 2, Way::few>(choice);
  if (choice.way == Way::few_held) return step_kernel_of<In, Out, 2, Way::few_held>(choice);
  if (choice.count == 1) return step_kernel_of<In, Out, 1>(choice);
  if (choice.count == 2) return step_kernel_of<In, Out, 2>(choice);
  if constexpr (sizeof(In) == 2) {
    if (choice.count == 8) return step_kernel_of<In, Out, 8>(choice);
  }
  return step_kernel_of<In, Out, 4>(choice);
}

}  // namespace rotary::cuda
