// SPDX-License-Identifier: Apache-2.0
// Every kernel table in this build, with the Highway target that it was compiled for.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"

namespace rotary::kernels {

struct CompiledTable {
  std::int64_t target;  // one bit, as in hwy/detect_targets.h
  const KernelTable* table;
};

// Best first.
[[nodiscard]] std::span<const CompiledTable> compiled_tables() noexcept;

}  // namespace rotary::kernels
