// SPDX-License-Identifier: Apache-2.0
// The tokens that a call has stored, and their slots.
#pragma once

#include <cstdint>

#include "fuzz/append/append_case.hpp"

namespace rotary::fuzz {

// A token's index among the heads, and its slot.
struct Stored {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t block = 0;
  std::int64_t place = 0;
};

// Calls visit(Stored) for every token that has a slot.
template <class Visit>
void for_each_stored(const AppendCase& append, Visit visit) {
  const Extents& n = append.heads.k.extents;
  const std::int64_t slots = cache_extents(append).tokens;
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      const auto number = static_cast<std::int64_t>(number_at(append.slots, b, t));
      if (number < 0) continue;
      const bool is_map = append.slots.kind != NumberKind::consecutive;
      visit(Stored{.batch = b,
                   .token = t,
                   .block = is_map ? number / slots : b,
                   .place = is_map ? number % slots : number});
    }
  }
}

}  // namespace rotary::fuzz
