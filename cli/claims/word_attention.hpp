// SPDX-License-Identifier: Apache-2.0
// Attention of one head over words with each encoding, for the claims about sentences. The word
// vectors and the matrices that make q, k and v are random.
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

// Splits at blanks.
[[nodiscard]] Words words_in(std::string_view sentence);

// Each vector is random, from a hash of its word and seed 22.
[[nodiscard]] Matrix vectors_of(const Words& words);

// The default is attention without positions.
struct WordEncoding {
  std::string name = {};
  std::optional<RotarySpec> rotary = {};
  std::optional<RelativeBias> bias = {};
  std::optional<ShawTable> shaw = {};
  // Adds absolute positions to the vectors of the words.
  Status (*add)(TokensView vectors, const ConsecutivePositions& positions) = nullptr;
};

using WordEncodings = std::vector<WordEncoding>;

// ALiBi, KERPLE and Sandwich, which ignore the sign of a distance.
[[nodiscard]] WordEncodings encodings_of_size();

// RoPE, xPos, T5, TISA and Shaw, which distinguish a distance's sign.
[[nodiscard]] WordEncodings encodings_of_direction();

// The sinusoidal and the learned encoding.
[[nodiscard]] WordEncodings absolute_encodings();

// FIRE, relative up to a threshold of 512 tokens.
[[nodiscard]] WordEncoding fire_encoding();

// Shaw's encoding with random vectors.
inline constexpr std::int64_t shaw_clip = 4;
[[nodiscard]] WordEncoding shaw_encoding();

struct Attended {
  Matrix out;      // [tokens][features]
  Matrix weights;  // [tokens][tokens]
};

// Attends over token vectors. The first token has position `first`.
[[nodiscard]] Attended attended(Matrix vectors, const WordEncoding& encoding,
                                const AttentionMask& mask, std::int64_t first = 0);

}  // namespace rotary::cli::claims
