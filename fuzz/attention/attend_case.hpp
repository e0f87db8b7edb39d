// SPDX-License-Identifier: Apache-2.0
// A call of attend(), decoded from an input: legal, and then perhaps spoilt in one thing.
#pragma once

#include <cstddef>
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

// The case owns everything that its options point to, so it must stay where it is.
struct AttendCase : AttentionViews {
  AttendCase() = default;
  AttendCase(const AttendCase&) = delete;
  AttendCase& operator=(const AttendCase&) = delete;

  AttentionShape shape;
  // Keys and values in 8 bits: bytes at the indices of k and v, whose elements have two, and scales
  // as views of one feature.
  bool in_int8 = false;
  HeadsView k_scales;
  HeadsView v_scales;
  std::optional<BlockTable> table;
  std::int32_t* blocks = nullptr;  // of the table
  std::vector<AttentionSequence> sequences;
  AttendOptions options;

  RelativeBias bias;
  ShawTable shaw_keys;
  ShawTable shaw_values;
  std::optional<Rotations> q_rotations;
  std::optional<Rotations> k_rotations;
  Frequencies cached_keys{.window = {.head_dim = 2, .rotary_dim = 2, .pairing = Pairing::half},
                          .inv_freq = {},
                          .turns = {},
                          .steps = {}};

  Expected expected = Expected::accepted;
};

// The keys and values of a case in 8 bits.
[[nodiscard]] QuantizedKeys quantized_keys(const AttendCase& of);

// The scales of one of these, as heads of one feature.
[[nodiscard]] ConstHeadsView scales_of(const ConstQuantizedHeadsView& heads);

// False where there is no room for the case.
[[nodiscard]] bool decode_attend(Bytes& input, Arena& arena, AttendCase& to);

// Adds to a case what brings positions into its scores.
void decode_encoding(Placing& placing, AttendCase& to);

// Adds a softcap and masks of pairs, or neither.
void decode_masks(Placing& placing, AttendCase& to);

// The elements of a mask of booleans, as those of heads.
[[nodiscard]] ConstHeadsView as_heads(const BooleanMaskView& mask);

// A query of a head, as rows of masks count them, and a key by its column.
struct MaskedPair {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t column = 0;
};
// The number that an additive mask adds, 0 without one.
[[nodiscard]] double number_at(const AttendOptions& options, const MaskedPair& at);
// Whether a mask of booleans leaves the pair.
[[nodiscard]] bool leaves(const AttendOptions& options, const MaskedPair& at);

// Makes one thing about the case wrong, or does not.
void spoil(Bytes& input, AttendCase& of);

}  // namespace rotary::fuzz
