// SPDX-License-Identifier: Apache-2.0
// The work of linear_attend() once every check has passed: cannot fail, allocates nothing. One head
// of k of one batch row at a time, with all heads of q that meet it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention/linear/linear_memory.hpp"
#include "kernels/kernels.hpp"
#include "rotary/linear_attention.hpp"

namespace rotary {

struct LinearCall {
  HeadsView out;
  LinearHeads heads;
  const FeatureMap& map;
  const LinearAttentionOptions& options;
  const kernels::KernelTable& kernels;
  LinearSizes sizes;
};

// Heads of k of all batch rows, counted row after row: head h of row b is b * heads + h.
struct KeyHeads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Bytes of memory that one part needs.
[[nodiscard]] std::int64_t bytes_of_part(const LinearSizes& sizes, DType dtype) noexcept;

// memory: bytes_of_part() of them, aligned to 64, of this part alone.
void attend_heads(const LinearCall& call, KeyHeads range, std::byte* memory) noexcept;

}  // namespace rotary
