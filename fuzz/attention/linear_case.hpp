// SPDX-License-Identifier: Apache-2.0
// A call of linear_attend(), decoded from an input: legal, or spoilt in one way.
#pragma once

#include <cstdint>
#include <optional>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attention_call.hpp"
#include "fuzz/attention/attention_shape.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/placing.hpp"
#include "rotary/linear_attention.hpp"

namespace rotary::fuzz {

// The case owns everything that its options and its map point to, so it must not move.
struct LinearCase : AttentionViews {
  LinearCase() = default;
  LinearCase(const LinearCase&) = delete;
  LinearCase& operator=(const LinearCase&) = delete;

  AttentionShape shape;
  std::int64_t map_features = 1;  // features that the map makes for each head
  FeatureMap map;
  LinearAttentionOptions options;

  std::optional<Rotations> q_rotations;
  std::optional<Rotations> k_rotations;
  // An earlier call takes this many tokens. This call continues from its state.
  std::int64_t earlier = 0;
  // The state has arbitrary contents, so results cannot be checked.
  bool has_any_state = false;

  Answer expected = Answer::accept;

  [[nodiscard]] LinearHeads heads() const { return {.q = q, .k = k, .v = v}; }
};

// Returns false if the case does not fit in the arena.
[[nodiscard]] bool decode_linear(Bytes& input, Arena& arena, LinearCase& to);

// True if every view is in its place of the arena and the library needs little time.
[[nodiscard]] bool is_callable(const Arena& arena, const LinearCase& of);

// Restores the bytes that the call may write.
void put_back_results(const LinearCase& of, const Memory& memory);

}  // namespace rotary::fuzz
