// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "kernels_of.cuh"

namespace rotary::cuda {

StepKernel kernel_of_bf16(const KernelChoice& choice) noexcept {
  if (choice.to == DType::bf16) return step_kernel_of<__nv_bfloat16, __nv_bfloat16>(choice);
  return nullptr;
}

}  // namespace rotary::cuda
