// SPDX-License-Identifier: Apache-2.0
#include "kernels/target.hpp"
#if ROTARY_COMPILE_TARGET
// Include after target.hpp.
#include <hwy/highway.h>

#include "kernels/cache-inl.hpp"
#include "kernels/cache_kernels.hpp"

namespace rotary::kernels {
namespace HWY_NAMESPACE {

template <class T>
constexpr NormKernels norm_kernels{.normalize = normalize<T>, .sum_of_squares = sum_of_squares<T>};

extern const CacheKernels cache_kernels;  // const alone would make it local to this file
constexpr CacheKernels cache_kernels{
    .rotate = {{narrowing_rotate<Interleaved, Interleaved>, narrowing_rotate<Interleaved, Half>},
               {{}, narrowing_rotate<Half, Half>}},
    .narrow_bf16 = narrow<BFloat16>,
    .narrow_f16 = narrow<Float16>,
    .norm_f32 = norm_kernels<float>,
    .norm_bf16 = norm_kernels<BFloat16>,
    .norm_f16 = norm_kernels<Float16>};

#if ROTARY_AVX512

template <class From, class To>
constexpr NarrowingRotate narrowing_rotate_with_bf16{
    .bf16 = rotate<From, To, float, HardwareBFloat16>, .f16 = rotate<From, To, float, Float16>};

constexpr CacheKernels with_hardware_bf16() {
  CacheKernels kernels = cache_kernels;
  kernels.rotate[0][0] = narrowing_rotate_with_bf16<Interleaved, Interleaved>;
  kernels.rotate[0][1] = narrowing_rotate_with_bf16<Interleaved, Half>;
  kernels.rotate[1][1] = narrowing_rotate_with_bf16<Half, Half>;
  kernels.narrow_bf16 = narrow<HardwareBFloat16>;
  return kernels;
}

extern const CacheKernels cache_kernels_with_bf16;
constexpr CacheKernels cache_kernels_with_bf16 = with_hardware_bf16();

#endif  // ROTARY_AVX512

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
#endif  // ROTARY_COMPILE_TARGET
