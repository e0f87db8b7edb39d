// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of linear attention once for each instruction set. The tables of
// kernel_targets.cpp point here.
#include "kernels/disabled_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_targets.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway requires.
#include <hwy/highway.h>

#include "kernels/linear-inl.hpp"
#include "kernels/linear_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {

extern const LinearKernels linear_kernels;
const LinearKernels linear_kernels{.f32 = linear_math<float>,
                                   .f64 = linear_math<double>,
                                   .f32_elements = linear_elements<float>,
                                   .bf16_elements = linear_elements<BFloat16>,
                                   .f16_elements = linear_elements<Float16>,
                                   .f64_elements = linear_elements<double>};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();
