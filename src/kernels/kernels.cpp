// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include <hwy/highway.h>

#include <array>

#include "kernels/compiled_tables.hpp"

namespace rotary::kernels {
namespace {

struct SupportedTables {
  std::array<const KernelTable*, max_tables> tables{};
  std::size_t count = 0;
};

SupportedTables find_supported() noexcept {
  SupportedTables found;
  // The compiler's baseline runs wherever this code does.
  const std::int64_t runnable = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  for (const CompiledTable& compiled : compiled_tables()) {
    if ((compiled.target & runnable) != 0) found.tables[found.count++] = compiled.table;
  }
  return found;
}

}  // namespace

std::span<const KernelTable* const> supported_tables() noexcept {
  static const SupportedTables supported = find_supported();
  return {supported.tables.data(), supported.count};
}

}  // namespace rotary::kernels
