// SPDX-License-Identifier: Apache-2.0
#include "kernels/target.hpp"
#if ROTARY_COMPILE_TARGET
// Include after target.hpp.
#include <hwy/highway.h>

#include "kernels/linear-inl.hpp"
#include "kernels/linear_kernels.hpp"

namespace rotary::kernels {
namespace HWY_NAMESPACE {

extern const LinearKernels linear_kernels;
const LinearKernels linear_kernels{.f32 = linear_math<float>,
                                   .f64 = linear_math<double>,
                                   .elements = {.f32 = linear_elements<float>,
                                                .bf16 = linear_elements<BFloat16>,
                                                .f16 = linear_elements<Float16>},
                                   .f64_elements = linear_elements<double>};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
#endif  // ROTARY_COMPILE_TARGET
