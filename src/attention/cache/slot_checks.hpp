// SPDX-License-Identifier: Apache-2.0
// The requirements of append() on the slots of a cache.
#pragma once

#include "attention/cache/slot_reader.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Checks that v is beside k in the heads and in the cache, whose extents these are, or in neither,
// with the same tokens and slots. v: null for none.
[[nodiscard]] Status check_v_beside_k(const KvHeads& heads, const Extents& k, const Extents* v);

// Checks that slots fit the cache and heads of k, which are checked already, whatever numbers a map
// holds.
[[nodiscard]] Status check_slots(const Slots& slots, const Extents& cache, const Extents& k);

// Checks that the slots of k's tokens, which fit, lie within the cache and that no two are equal,
// in memory of a fixed size. Returns whether there are any: false if all tokens are padding.
[[nodiscard]] Result<bool> stores_tokens(const SlotReader& slots, const Extents& cache);

}  // namespace rotary
