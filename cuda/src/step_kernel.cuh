// SPDX-License-Identifier: Apache-2.0
// The kernels of every call that writes heads.
#pragma once

#include "few_tokens.cuh"
#include "plain_heads.cuh"
#include "whole_heads.cuh"

namespace rotary::cuda {

template <class In, class Out, int Count, Way way, Features read, Features written>
__global__ void __launch_bounds__(most_threads, 4)  // leaves 128 registers for heads in flight
    step_kernel(const __grid_constant__ StepJob job) {
  if constexpr (way == Way::few || way == Way::few_held) {
    FewTokens<In, Out, way, read, written>{job}.run();
  } else {
    extern __shared__ __align__(32) unsigned char shared[];
    Team team(job, shared);
    if constexpr (way == Way::whole) {
      WholeHeads<In, Out, Count, read, written>{job, team}.run();
    } else {
      PlainHeads<In, Out, Count, way, read, written>{job, team}.run();
    }
  }
}

}  // namespace rotary::cuda
