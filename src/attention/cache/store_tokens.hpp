// SPDX-License-Identifier: Apache-2.0
// The work of append() once every check has passed: cannot fail, allocates nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "attention/cache/slot_reader.hpp"
#include "kernels/kernels.hpp"
#include "rotary/kv_cache.hpp"
#include "rotation/apply/apply_rotations.hpp"

namespace rotary {

struct Storing {
  const KvCache& cache;
  const KvHeads& heads;
  SlotReader slots;
  const Rotations* rotations;  // null: keys as they are
  const std::optional<KeyNorm>& k_norm;
  const kernels::KernelTable& kernels;
};

// Reads tokens of the range alone, counted as in TokenRange, and writes their slots alone.
void store_tokens(const Storing& storing, TokenRange range) noexcept;

}  // namespace rotary
