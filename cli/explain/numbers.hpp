// SPDX-License-Identifier: Apache-2.0
// The subject of an explanation: a query, a key, where they stand, and how their pairs turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/explain/turning.hpp"
#include "cli/json.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::cli::explain {

struct Numbers {
  Vector query;
  Vector key;
  std::int64_t query_position = 0;
  std::int64_t key_position = 0;
  RotarySpec spec;
  Frequencies frequencies;
  std::string config;                            // where the spec comes from; empty: from options
  std::optional<std::int64_t> hidden_size = {};  // features of a token, where a config says it

  [[nodiscard]] double attention_factor() const { return frequencies.attention_factor; }
  [[nodiscard]] std::size_t rotary_dim() const {
    return static_cast<std::size_t>(frequencies.window.rotary_dim);
  }
  [[nodiscard]] std::vector<Pair> pairs_at(std::int64_t position) const {
    return explain::pairs_at(frequencies, position);
  }
  // A R(position) x.
  [[nodiscard]] Vector turned(const Vector& x, std::int64_t position) const {
    return explain::turned(x, pairs_at(position), attention_factor());
  }
};

// The example that is printed in many places: position 3, these four features, interleaved pairs.
inline constexpr double example_values[] = {0.5, -1, 1.5, 2};
inline constexpr std::int64_t example_position = 3;

// "q = [...] at position 3", "k = ...", "d = 4 features, interleaved pairing, base 10000".
[[nodiscard]] std::string query_text(const Numbers& numbers);
[[nodiscard]] std::string key_text(const Numbers& numbers);
[[nodiscard]] std::string spec_text(const Numbers& numbers);

// The document that a topic adds its members to: schema_version, topic and the query; and the same
// with the key.
[[nodiscard]] Json document_of_query(std::string_view topic, const Numbers& numbers);
[[nodiscard]] Json document_of_pair(std::string_view topic, const Numbers& numbers);

// For a person: six decimals, or six digits where that would be too long or say 0.
[[nodiscard]] std::string number_text(double number);
// "[a, b, c]"; of more than 8 numbers the first four, "...", the last two.
[[nodiscard]] std::string vector_text(const Vector& values);
// The same in as many digits as the numbers have.
[[nodiscard]] std::string exact_vector_text(const Vector& values);

// A check that is shown: fails the command (exit code 1) where a deviation is beyond its bound.
struct Check {
  double deviation = 0;
  double bound = 0;
  [[nodiscard]] bool holds() const { return deviation <= bound; }
};
void require(const Check& check, std::string_view what);
// Adds deviation, bound and holds.
void add_check(Json& json, const Check& check);

}  // namespace rotary::cli::explain
