// SPDX-License-Identifier: Apache-2.0
// The instruction sets of Highway that no kernel is compiled for: before <hwy/foreach_target.h>.
#pragma once

// Vectors of a length known at compile time: rows are held in arrays of them. SSSE3: no machine in
// use has it without SSE4, and each table costs seconds of compiling.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)

// On 64-bit Arm that leaves NEON, the compiler's baseline: nothing to choose at run time. Told so,
// Highway puts no attribute "+crypto" on each function. Our kernels use no AES, and gcc 12 gives
// the attribute to no constructor that it writes by itself, which then cannot inline what has it.
#if defined(__aarch64__)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif
