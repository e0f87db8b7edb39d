// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "kernels_of.cuh"

namespace rotary::cuda {

StepKernel kernel_of_f16(const KernelChoice& choice) noexcept {
  if (choice.to == DType::f16) return step_kernel_of<__half, __half>(choice);
  return nullptr;
}

}  // namespace rotary::cuda
