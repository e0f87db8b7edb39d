// SPDX-License-Identifier: Apache-2.0
// A call of linear_attend(), decoded from an input: legal, and then perhaps spoilt in one thing.
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

// The case owns everything that its options and its map point to, so it must stay where it is.
struct LinearCase : AttentionViews {
  LinearCase() = default;
  LinearCase(const LinearCase&) = delete;
  LinearCase& operator=(const LinearCase&) = delete;

  AttentionShape shape;
  std::int64_t map_features = 1;  // of each head, that the map makes
  FeatureMap map;
  LinearAttentionOptions options;

  std::optional<Rotations> q_rotations;
  std::optional<Rotations> k_rotations;
  // Tokens from the first on that a call of their own takes, whose state this call goes on from.
  std::int64_t earlier = 0;
  // The state holds anything: nothing can be said about results.
  bool has_any_state = false;

  Answer expected = Answer::accept;

  [[nodiscard]] LinearHeads heads() const { return {.q = q, .k = k, .v = v}; }
};

// False where there is no room for the case.
[[nodiscard]] bool decode_linear(Bytes& input, Arena& arena, LinearCase& to);

// Makes one thing about the case wrong, or does not.
void spoil(Bytes& input, LinearCase& of);

// True where every view lies in its place of the arena and the library needs little time.
[[nodiscard]] bool is_callable(const Arena& arena, const LinearCase& of);

// Restores the bytes that the call may write.
void put_back_results(const LinearCase& of, const Memory& memory);

}  // namespace rotary::fuzz
