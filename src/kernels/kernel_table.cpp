// SPDX-License-Identifier: Apache-2.0
// The table of one instruction set: its kernels for rows and rotation, and pointers to the others.
// CMake compiles this file, attend_table.cpp, cache_table.cpp, int8_table.cpp and linear_table.cpp
// once for each set, into separate objects (target.hpp).
#include "kernels/target.hpp"
#if ROTARY_COMPILE_TARGET
// Include after target.hpp.
#include <hwy/highway.h>

#include "kernels/kernels.hpp"
#include "kernels/rotate-inl.hpp"
#include "kernels/rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {

#ifndef ROTARY_CORE_ONLY
extern const AttendKernels attend_kernels;  // attend_table.cpp
extern const CacheKernels cache_kernels;    // cache_table.cpp
extern const Int8Kernels int8_kernels;      // int8_table.cpp
extern const LinearKernels linear_kernels;  // linear_table.cpp
#endif

const char* instruction_set() { return hwy::TargetName(HWY_TARGET); }

extern const KernelTable kernel_table;  // used by compiled_tables.cpp
constexpr KernelTable kernel_table{
    .instruction_set = instruction_set,
    .make_rows_f32 = make_rows<float>,
    .make_rows_f64 = make_rows<double>,
    .make_axis_rows_f32 = make_axis_rows<float>,
    .make_axis_rows_f64 = make_axis_rows<double>,
    .make_phase_row_f32 = make_phase_row<float>,
    .make_phase_row_f64 = make_phase_row<double>,
    .rotate = {{rotate_kernels<Interleaved, Interleaved>, rotate_kernels<Interleaved, Half>},
               {rotate_kernels<Half, Interleaved>, rotate_kernels<Half, Half>}},
#ifndef ROTARY_CORE_ONLY
    .attend = &attend_kernels,
    .cache = &cache_kernels,
    .int8 = &int8_kernels,
    .linear = &linear_kernels
#endif
};

#if ROTARY_AVX512

#ifndef ROTARY_CORE_ONLY
extern const CacheKernels cache_kernels_with_bf16;  // cache_table.cpp
#endif

const char* instruction_set_with_bf16() { return "AVX3_BF16"; }

constexpr KernelTable with_hardware_bf16() {
  KernelTable kernels = kernel_table;
  kernels.instruction_set = instruction_set_with_bf16;
  kernels.rotate[0][0].once.bf16 = rotate<Interleaved, Interleaved, HardwareBFloat16>;
  kernels.rotate[0][1].once.bf16 = rotate<Interleaved, Half, HardwareBFloat16>;
  kernels.rotate[1][0].once.bf16 = rotate<Half, Interleaved, HardwareBFloat16>;
  kernels.rotate[1][1].once.bf16 = rotate<Half, Half, HardwareBFloat16>;
#ifndef ROTARY_CORE_ONLY
  kernels.cache = &cache_kernels_with_bf16;
#endif
  return kernels;
}

extern const KernelTable kernel_table_with_bf16;
constexpr KernelTable kernel_table_with_bf16 = with_hardware_bf16();

#endif  // ROTARY_AVX512

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();
#endif  // ROTARY_COMPILE_TARGET
