// SPDX-License-Identifier: Apache-2.0
// Does the work of append() after all checks: cannot fail, allocates nothing.
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
  const Rotations* rotations;  // null: stores keys unrotated
  const std::optional<KeyNorm>& k_norm;
  const kernels::KernelTable& kernels;
};

// Reads only tokens of the range, counted as in TokenRange, and writes only their slots.
void store_tokens(const Storing& storing, TokenRange range) noexcept;

}  // namespace rotary
