// SPDX-License-Identifier: Apache-2.0
// The requirements of append() on the slots of a cache.
#pragma once

#include "attention/cache/slot_reader.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Checks that heads and cache both have v, or neither, and that v has the tokens and slots of k.
// The arguments k and v are extents of the cache; v is null if the cache has none.
[[nodiscard]] Status check_v_beside_k(const KvHeads& heads, const Extents& k, const Extents* v);

// Checks that slots fit the cache and k. Reads no entry of a map. Requires checked extents.
[[nodiscard]] Status check_slots(const Slots& slots, const Extents& cache, const Extents& k);

// Checks that the slots of k's tokens are within the cache and that no two are equal. Uses memory
// of a fixed size. Returns false if all tokens are padding. Requires check_slots().
[[nodiscard]] Result<bool> stores_tokens(const SlotReader& slots, const Extents& cache);

}  // namespace rotary
