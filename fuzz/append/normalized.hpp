// SPDX-License-Identifier: Apache-2.0
// Keys of a token that a call has normalised, and turned before or after, against the same in long
// double.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "fuzz/turned.hpp"
#include "rotary/kv_cache.hpp"

namespace rotary::fuzz {

// All heads of one token.
struct NormalizedHeads {
  std::span<const Head> before;
  std::span<const Head> after;
  std::int64_t features = 0;
};

// Each element is within the bound of numeric_contract.hpp, of tokens that it speaks of.
void check_normalized(const NormalizedHeads& heads, const KeyNorm& k_norm,
                      const std::optional<TurnedBy>& by);

}  // namespace rotary::fuzz
