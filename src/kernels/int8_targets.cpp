// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of quantized keys once for each instruction set. The tables of
// kernel_targets.cpp point here.
#include "kernels/disabled_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/int8_targets.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway requires.
#include <hwy/highway.h>

#include "kernels/int8-inl.hpp"
#include "kernels/int8_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {

extern const Int8Kernels int8_kernels;
const Int8Kernels int8_kernels{
    .half = shift_int8<Int8Half>, .interleaved = shift_int8<Int8Interleaved>, .quantize = quantize};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();
