// SPDX-License-Identifier: Apache-2.0
// Highway instruction sets that no kernel is compiled for. Include before <hwy/foreach_target.h>.
#pragma once

// SVE and RVV: vectors need a length known at compile time, because rows are held in arrays of
// them. SSSE3: every machine in use that has it also has SSE4, and each table costs seconds of
// compiling.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)

// On 64-bit Arm that leaves NEON, the compiler's baseline, so there is nothing to choose at run
// time. With this macro Highway does not put the attribute "+crypto" on each function. Our kernels
// use no AES, and gcc 12 omits the attribute from the constructors it generates, which then cannot
// inline functions that have it.
#if defined(__aarch64__)
#define TOOLCHAIN_MISS_SYS_AUXV_H
#endif
