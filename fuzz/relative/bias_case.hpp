// SPDX-License-Identifier: Apache-2.0
// A relative bias of any kind with any numbers, and the positions of its rows and columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::fuzz {

// A number of usual size, or one on which formulas may fail.
[[nodiscard]] double decode_number(Bytes& input);

// Returns nullopt if the table of T5 would leave the buffer.
[[nodiscard]] std::optional<RelativeBias> decode_bias(Bytes& input, Places& places);

// The answer that the public headers require for these numbers.
[[nodiscard]] Answer expected_of(const T5Buckets& buckets);
[[nodiscard]] Answer expected_of(const Alibi& alibi);
[[nodiscard]] Answer expected_of(const RelativeBias& bias);

// Positions of rows and columns, as a range or one by one.
struct PlacesOfScores {
  BiasRange range = {};
  std::optional<BiasPositions> one_by_one = {};

  [[nodiscard]] std::int64_t query(std::int64_t row) const;
  [[nodiscard]] std::int64_t key(std::int64_t column) const;
};

// storage: holds positions that are given one by one.
[[nodiscard]] PlacesOfScores decode_places(Bytes& input, const ScoresExtents& n,
                                           std::vector<std::int64_t>& storage);

// The answer for these positions of rows and columns; either if there is no score.
[[nodiscard]] Answer expected_of(const PlacesOfScores& places, const ScoresExtents& n);

// The answer for a table that is read. It may be refused if strides of 0 repeat a number very
// often.
[[nodiscard]] Answer expected_of_table(const Strided& table);

}  // namespace rotary::fuzz
