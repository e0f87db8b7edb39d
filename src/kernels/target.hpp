// SPDX-License-Identifier: Apache-2.0
// The instruction set of an object. CMake gives it as ROTARY_TARGET, a target of Highway such as
// HWY_AVX2. If the compiler's options already require that set or a better one,
// ROTARY_COMPILE_TARGET is 0 and the object stays empty. Include this header first.
#pragma once

// SVE and RVV are disabled: rows are held in arrays of vectors, which need a length known at
// compile time. SSSE3 is disabled: every machine in use that has it also has SSE4, and each table
// costs seconds to compile.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)

// On 64-bit Arm only NEON is left, the compiler's baseline: nothing to choose at run time. This
// macro keeps Highway from putting "+crypto" on each function. Our kernels use no AES. gcc 12 omits
// the attribute from constructors that it generates, which then cannot inline such functions.
#if defined(__aarch64__)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif

#include <hwy/detect_targets.h>

// Without ROTARY_TARGET: the baseline, the best set that the compiler's options require.
#ifndef ROTARY_TARGET
#define ROTARY_COMPILE_TARGET 1
#else
#undef HWY_TARGET
#define HWY_TARGET ROTARY_TARGET
#define ROTARY_COMPILE_TARGET ((HWY_TARGETS & HWY_TARGET) && HWY_TARGET != HWY_STATIC_TARGET)
#endif
