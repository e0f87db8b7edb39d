// SPDX-License-Identifier: Apache-2.0
// A call of attend_mapped(), decoded from an input: legal, and then perhaps spoilt in one thing.
#pragma once

#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attention_call.hpp"
#include "fuzz/attention/attention_shape.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/placing.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::fuzz {

// The case owns everything that its options point to, so it must stay where it is.
struct MappedCase : AttentionViews {
  MappedCase() = default;
  MappedCase(const MappedCase&) = delete;
  MappedCase& operator=(const MappedCase&) = delete;

  AttentionShape shape;
  std::vector<AttentionSequence> sequences;
  Frequencies frequencies{.window = {.head_dim = 2, .rotary_dim = 2, .pairing = Pairing::half},
                          .inv_freq = {},
                          .turns = {},
                          .steps = {}};
  MappedAttention options;

  Expected expected = Expected::accepted;
};

// False where there is no room for the case.
[[nodiscard]] bool decode_mapped(Bytes& input, Arena& arena, MappedCase& to);

// True where every view lies in its place of the arena and the library needs little time.
[[nodiscard]] bool is_callable(const Arena& arena, const MappedCase& of);

// Every element is within the bound of the definition of the map. Requires an accepted case, whose
// operands are as they were.
void check_mapped(const MappedCase& of);

}  // namespace rotary::fuzz
