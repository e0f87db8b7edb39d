// SPDX-License-Identifier: Apache-2.0
#include "kernels/target.hpp"
#if ROTARY_COMPILE_TARGET
// Include after target.hpp.
#include <hwy/highway.h>

#include "kernels/int8-inl.hpp"
#include "kernels/int8_kernels.hpp"

namespace rotary::kernels {
namespace HWY_NAMESPACE {

extern const Int8Kernels int8_kernels;
const Int8Kernels int8_kernels{
    .half = shift_int8<Half>, .interleaved = shift_int8<Int8Interleaved>, .quantize = quantize};

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
#endif  // ROTARY_COMPILE_TARGET
