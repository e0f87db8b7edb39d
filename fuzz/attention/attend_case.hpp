// SPDX-License-Identifier: Apache-2.0
// A call of attend() or attend_mapped(), decoded from an input: legal, or spoilt in one way.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attention_call.hpp"
#include "fuzz/attention/attention_shape.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/placing.hpp"
#include "rotary/attention.hpp"

namespace rotary::fuzz {

// The case owns everything that its options point to, so it must not move.
struct AttendCase : check::AttendCall {
  AttendCase() = default;
  AttendCase(const AttendCase&) = delete;
  AttendCase& operator=(const AttendCase&) = delete;

  AttentionShape shape;
  std::int32_t* blocks = nullptr;  // of the block table
  std::vector<AttentionSequence> listed;

  RelativeBias bias;
  ShawTable shaw_keys;
  ShawTable shaw_values;
  std::optional<Rotations> q_rotations;
  std::optional<Rotations> k_rotations;
  // Frequencies for cached keys or for a map.
  Frequencies owned_frequencies{
      .window = {.head_dim = 2, .rotary_dim = 2, .pairing = Pairing::half},
      .inv_freq = {},
      .turns = {},
      .steps = {}};

  Answer expected = Answer::accept;
};

// Returns false if the case does not fit in the arena.
[[nodiscard]] bool decode_attend(Bytes& input, Arena& arena, AttendCase& to);

void decode_encoding(Placing& placing, AttendCase& to);

// Changes one thing about the legal case. Sets of.expected, because the case may stay legal.
void spoil(Bytes& input, AttendCase& of);

}  // namespace rotary::fuzz
