// SPDX-License-Identifier: Apache-2.0
// Compares keys of a token that a call has normalised, and rotated before or after, with the same
// in long double.
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

// Requires each element within the bound of numeric_contract.hpp, for tokens that it covers.
void check_normalized(const NormalizedHeads& heads, const KeyNorm& k_norm,
                      const std::optional<TurnedBy>& by);

}  // namespace rotary::fuzz
