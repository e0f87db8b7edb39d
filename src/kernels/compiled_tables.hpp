// SPDX-License-Identifier: Apache-2.0
// All kernel tables of this build, with the Highway target of each.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"

namespace rotary::kernels {

// The instructions that a table needs beyond its target.
enum class Beyond { nothing, bf16_conversion };

struct CompiledTable {
  std::int64_t target;  // one bit of hwy/detect_targets.h
  Beyond beyond;
  const KernelTable* table;
};

// Best first.
[[nodiscard]] std::span<const CompiledTable> compiled_tables() noexcept;

}  // namespace rotary::kernels
