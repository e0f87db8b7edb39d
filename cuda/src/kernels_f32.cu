// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "kernels_of.cuh"

namespace rotary::cuda {

StepKernel kernel_of_f32(const KernelChoice& choice) noexcept {
  if (choice.to == DType::f32) return step_kernel_of<float, float>(choice);
  if (choice.to == DType::bf16) return step_kernel_of<float, __nv_bfloat16>(choice);
  if (choice.to == DType::f16) return step_kernel_of<float, __half>(choice);
  return nullptr;
}

}  // namespace rotary::cuda
