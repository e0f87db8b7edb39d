// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include <hwy/highway.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#include <array>

#include "kernels/compiled_tables.hpp"

namespace rotary::kernels {
namespace {

struct SupportedTables {
  std::array<const KernelTable*, max_tables> tables{};
  std::size_t count = 0;
};

// AVX512_BF16: VCVTNEPS2BF16 and VCVTNE2PS2BF16, in leaf 7, subleaf 1, of CPUID. Whether the system
// saves the registers is part of the target that such a table was compiled for.
bool converts_bf16() noexcept {
#if HWY_ARCH_X86
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1U << 5)) != 0;
#else
  return false;
#endif
}

bool runs(const CompiledTable& compiled, std::int64_t runnable) noexcept {
  if ((compiled.target & runnable) == 0) return false;
  switch (compiled.beyond) {
    case Beyond::nothing:
      return true;
    case Beyond::bf16_conversion:
      return converts_bf16();
  }
  return false;
}

SupportedTables find_supported() noexcept {
  SupportedTables found;
  // The compiler's baseline runs wherever this code does.
  const std::int64_t runnable = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  for (const CompiledTable& compiled : compiled_tables()) {
    if (runs(compiled, runnable)) found.tables[found.count++] = compiled.table;
  }
  return found;
}

}  // namespace

std::span<const KernelTable* const> supported_tables() noexcept {
  static const SupportedTables supported = find_supported();
  return {supported.tables.data(), supported.count};
}

}  // namespace rotary::kernels
