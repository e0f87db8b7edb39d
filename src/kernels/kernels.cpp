// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include <hwy/highway.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#include <array>
#include <cstring>
#include <string_view>

#include "kernels/compiled_tables.hpp"
#include "kernels/key_fetching.hpp"

namespace rotary::kernels {
namespace {

struct Supported {
  std::array<const KernelTable*, max_tables> tables{};
  std::array<std::string_view, max_tables> names{};
  std::size_t count = 0;
};

// AVX512_BF16 (VCVTNEPS2BF16 and VCVTNE2PS2BF16): CPUID leaf 7, subleaf 1. The check of the table's
// target already ensures that the system saves the registers.
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

Supported find_supported() noexcept {
  Supported found;
  // The baseline runs wherever this code does.
  const std::int64_t runnable = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  for (const CompiledTable& compiled : compiled_tables()) {
    if (!runs(compiled, runnable)) continue;
    found.tables[found.count] = compiled.table;
    found.names[found.count++] = compiled.table->instruction_set();
  }
  return found;
}

constinit Supported supported;

const Supported& find_once() noexcept {
  if (supported.count == 0) supported = find_supported();
  return supported;
}

// Finds the tables before main. A function-local static could hang: a process forked while another
// thread initialises it would wait forever. A call before this initialisation finds them itself.
[[maybe_unused]] const Supported& found_at_load = find_once();

// Zen 4 has some of the models of AMD's family 25; the others are Zen 3.
bool is_zen_4() {
#if HWY_ARCH_X86
  std::array<char, 12> vendor = {};
  std::array<unsigned, 4> registers = {};
  auto& [eax, ebx, ecx, edx] = registers;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return false;
  std::memcpy(vendor.data(), &ebx, 4);
  std::memcpy(vendor.data() + 4, &edx, 4);
  std::memcpy(vendor.data() + 8, &ecx, 4);
  if (std::string_view(vendor.data(), vendor.size()) != "AuthenticAMD") return false;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  const unsigned family = ((eax >> 8) & 0xF) + ((eax >> 20) & 0xFF);
  const unsigned model = ((eax >> 4) & 0xF) + ((eax >> 12) & 0xF0);
  const auto within = [&](unsigned first, unsigned last) {
    return first <= model && model <= last;
  };
  return family == 0x19 && (within(0x10, 0x1F) || within(0x60, 0x7F) || within(0xA0, 0xAF));
#else
  return false;
#endif
}

}  // namespace

KeyFetching usual_key_fetching() { return is_zen_4() ? KeyFetching::pages : KeyFetching::lines; }

std::span<const KernelTable* const> supported_tables() noexcept {
  const Supported& found = find_once();
  return {found.tables.data(), found.count};
}

std::span<const std::string_view> supported_names() noexcept {
  const Supported& found = find_once();
  return {found.names.data(), found.count};
}

}  // namespace rotary::kernels
