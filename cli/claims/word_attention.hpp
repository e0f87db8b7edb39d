// SPDX-License-Identifier: Apache-2.0
// Attention of one head over words with each encoding, for the claims about sentences. Vectors of
// words, and the matrices that make q, k and v, are random.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/attention.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::cli::claims {

inline constexpr std::int64_t word_features = 64;

using Matrix = std::vector<double>;  // [rows][word_features]
using Words = std::vector<std::string>;

[[nodiscard]] Matrix normal_rows(std::uint64_t seed, std::int64_t rows);

// Those between blanks.
[[nodiscard]] Words words_in(std::string_view sentence);

// Made of a hash of each word and seed 22.
[[nodiscard]] Matrix vectors_of(const Words& words);

// Nothing set: attention without positions.
struct WordEncoding {
  std::string name = {};
  std::optional<RotarySpec> rotary = {};
  std::optional<RelativeBias> bias = {};
  std::optional<ShawTable> shaw = {};
  // Adds absolute positions to the vectors of the words.
  Status (*add)(TokensView vectors, const ConsecutivePositions& positions) = nullptr;
};

using WordEncodings = std::vector<WordEncoding>;

// ALiBi, KERPLE, Sandwich: they ignore the sign of a distance.
[[nodiscard]] WordEncodings encodings_of_size();

// RoPE, xPos, T5, TISA, Shaw.
[[nodiscard]] WordEncodings encodings_of_direction();

// Sinusoidal, learned.
[[nodiscard]] WordEncodings absolute_encodings();

// Relative up to a threshold of 512 tokens.
[[nodiscard]] WordEncoding fire_encoding();

// Random vectors.
inline constexpr std::int64_t shaw_clip = 4;
[[nodiscard]] WordEncoding shaw_encoding();

struct Attended {
  Matrix out;      // [tokens][features]
  Matrix weights;  // [tokens][tokens]
};

// Attends over vectors of tokens, the first of which stands at this position.
[[nodiscard]] Attended attended(Matrix vectors, const WordEncoding& encoding,
                                const AttentionMask& mask, std::int64_t first = 0);

}  // namespace rotary::cli::claims
