// SPDX-License-Identifier: Apache-2.0
// Lists the kernel tables of this build. Highway's own choice of a target is not used, so a forced
// instruction set does not affect other users of Highway in the process.
#include "kernels/compiled_tables.hpp"

#include "kernels/target.hpp"
// Include after target.hpp.
#include <hwy/highway.h>

// The build has an instruction set beyond the baseline if CMake names it (ROTARY_WITH_AVX2) and the
// compiler's options do not already require that set or a better one.
#define ROTARY_HAS(set) \
  (ROTARY_WITH_##set && (HWY_TARGETS & HWY_##set) && HWY_STATIC_TARGET != HWY_##set)

namespace rotary::kernels {

// Defined by kernel_table.cpp. In this file, HWY_NAMESPACE is that of the baseline.
namespace HWY_NAMESPACE {
extern const KernelTable kernel_table;
}
#if ROTARY_HAS(AVX3)
namespace N_AVX3 {
extern const KernelTable kernel_table;
extern const KernelTable kernel_table_with_bf16;
}  // namespace N_AVX3
#elif HWY_STATIC_TARGET == HWY_AVX3
namespace N_AVX3 {
extern const KernelTable kernel_table_with_bf16;
}
#endif
#if ROTARY_HAS(AVX2)
namespace N_AVX2 {
extern const KernelTable kernel_table;
}
#endif
#if ROTARY_HAS(SSE4)
namespace N_SSE4 {
extern const KernelTable kernel_table;
}
#endif

namespace {

constexpr CompiledTable tables[] = {
#if ROTARY_HAS(AVX3) || HWY_STATIC_TARGET == HWY_AVX3
    {HWY_AVX3, Beyond::bf16_conversion, &N_AVX3::kernel_table_with_bf16},
#endif
#if ROTARY_HAS(AVX3)
    {HWY_AVX3, Beyond::nothing, &N_AVX3::kernel_table},
#endif
#if ROTARY_HAS(AVX2)
    {HWY_AVX2, Beyond::nothing, &N_AVX2::kernel_table},
#endif
#if ROTARY_HAS(SSE4)
    {HWY_SSE4, Beyond::nothing, &N_SSE4::kernel_table},
#endif
    {HWY_STATIC_TARGET, Beyond::nothing, &HWY_NAMESPACE::kernel_table},
};

}  // namespace

std::span<const CompiledTable> compiled_tables() noexcept { return tables; }

}  // namespace rotary::kernels
