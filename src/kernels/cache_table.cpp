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
    .narrow = {.bf16 = narrow<BFloat16>, .f16 = narrow<Float16>},
    .norm = {
        .f32 = norm_kernels<float>, .bf16 = norm_kernels<BFloat16>, .f16 = norm_kernels<Float16>}};

#if ROTARY_AVX512

constexpr CacheKernels with_hardware_bf16() {
  CacheKernels kernels = cache_kernels;
  kernels.rotate[0][0].bf16 = rotate<Interleaved, Interleaved, float, HardwareBFloat16>;
  kernels.rotate[0][1].bf16 = rotate<Interleaved, Half, float, HardwareBFloat16>;
  kernels.rotate[1][1].bf16 = rotate<Half, Half, float, HardwareBFloat16>;
  kernels.narrow.bf16 = narrow<HardwareBFloat16>;
  return kernels;
}

extern const CacheKernels cache_kernels_with_bf16;
constexpr CacheKernels cache_kernels_with_bf16 = with_hardware_bf16();

#endif  // ROTARY_AVX512

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
#endif  // ROTARY_COMPILE_TARGET
