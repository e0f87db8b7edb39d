// SPDX-License-Identifier: Apache-2.0
// Compiles every kernel once for each instruction set that Highway can dispatch to here, and lists
// the resulting tables. It keeps its own list instead of using Highway's chosen target, so that
// forcing one here changes nothing for another user of Highway in the process. attend_targets.cpp,
// cache_targets.cpp, int8_targets.cpp and linear_targets.cpp compile the other kernels for the same
// sets.
#include "kernels/disabled_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/kernel_targets.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway requires.
#include <hwy/highway.h>

#include "kernels/kernels.hpp"
#include "kernels/rotate-inl.hpp"
#include "kernels/rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rotary::kernels {
namespace HWY_NAMESPACE {

#ifndef ROTARY_CORE_ONLY
extern const AttendKernels attend_kernels;  // attend_targets.cpp
extern const CacheKernels cache_kernels;    // cache_targets.cpp
extern const Int8Kernels int8_kernels;      // int8_targets.cpp
extern const LinearKernels linear_kernels;  // linear_targets.cpp
#endif

const char* instruction_set() { return hwy::TargetName(HWY_TARGET); }

constexpr KernelTable table{.instruction_set = instruction_set,
                            .make_rows_f32 = make_rows_f32,
                            .make_rows_f64 = make_rows_f64,
                            .make_axis_rows_f32 = make_axis_rows_f32,
                            .make_axis_rows_f64 = make_axis_rows_f64,
                            .make_phase_row_f32 = make_phase_row_f32,
                            .make_phase_row_f64 = make_phase_row_f64,
                            .rotate_half = rotate_kernels<Half, Half>,
                            .rotate_interleaved = rotate_kernels<Interleaved, Interleaved>,
                            .rotate_interleaved_to_half = rotate_kernels<Interleaved, Half>,
                            .rotate_half_to_interleaved = rotate_kernels<Half, Interleaved>,
#ifndef ROTARY_CORE_ONLY
                            .attend = &attend_kernels,
                            .cache = &cache_kernels,
                            .int8 = &int8_kernels,
                            .linear = &linear_kernels
#endif
};

#if ROTARY_AVX512

#ifndef ROTARY_CORE_ONLY
extern const CacheKernels cache_kernels_with_bf16;  // cache_targets.cpp
#endif

const char* instruction_set_with_bf16() { return "AVX3_BF16"; }

constexpr KernelTable with_hardware_bf16() {
  KernelTable kernels = table;
  kernels.instruction_set = instruction_set_with_bf16;
  kernels.rotate_half.bf16 = rotate<Half, Half, HardwareBFloat16>;
  kernels.rotate_interleaved.bf16 = rotate<Interleaved, Interleaved, HardwareBFloat16>;
  kernels.rotate_interleaved_to_half.bf16 = rotate<Interleaved, Half, HardwareBFloat16>;
  kernels.rotate_half_to_interleaved.bf16 = rotate<Half, Interleaved, HardwareBFloat16>;
#ifndef ROTARY_CORE_ONLY
  kernels.cache = &cache_kernels_with_bf16;
#endif
  return kernels;
}

constexpr KernelTable table_with_bf16 = with_hardware_bf16();

#endif  // ROTARY_AVX512

}  // namespace HWY_NAMESPACE
}  // namespace rotary::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/compiled_tables.hpp"

namespace rotary::kernels {

namespace {

constexpr CompiledTable tables[] = {
#if HWY_TARGETS & HWY_AVX3
    {HWY_AVX3, Beyond::bf16_conversion, &N_AVX3::table_with_bf16},
#endif
#if HWY_TARGETS & HWY_AVX3_DL
    {HWY_AVX3_DL, Beyond::nothing, &N_AVX3_DL::table},
#endif
#if HWY_TARGETS & HWY_AVX3
    {HWY_AVX3, Beyond::nothing, &N_AVX3::table},
#endif
#if HWY_TARGETS & HWY_AVX2
    {HWY_AVX2, Beyond::nothing, &N_AVX2::table},
#endif
#if HWY_TARGETS & HWY_SSE4
    {HWY_SSE4, Beyond::nothing, &N_SSE4::table},
#endif
#if HWY_TARGETS & HWY_NEON
    {HWY_NEON, Beyond::nothing, &N_NEON::table},
#endif
#if HWY_TARGETS & HWY_EMU128
    {HWY_EMU128, Beyond::nothing, &N_EMU128::table},
#endif
#if HWY_TARGETS & HWY_SCALAR
    {HWY_SCALAR, Beyond::nothing, &N_SCALAR::table},
#endif
};

// Without the compiler's baseline, a machine might be able to run none of the tables.
constexpr bool has_baseline() {
  for (const CompiledTable& each : tables) {
    if (each.target == HWY_STATIC_TARGET && each.beyond == Beyond::nothing) return true;
  }
  return false;
}
static_assert(has_baseline(), "a target of this version of Highway is missing from the list");

}  // namespace

std::span<const CompiledTable> compiled_tables() noexcept { return tables; }

}  // namespace rotary::kernels
#endif  // HWY_ONCE
