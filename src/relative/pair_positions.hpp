// SPDX-License-Identifier: Apache-2.0
// Where the rows and columns of a block of scores stand, and that every distance fits int64.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::relative {

// A query and a key.
struct PairOfPositions {
  std::int64_t query = 0;
  std::int64_t key = 0;

  // key - query, as T5 counts.
  [[nodiscard]] std::int64_t relative() const noexcept { return key - query; }
  // |query - key|; beyond 2^53 the nearest double.
  [[nodiscard]] double distance() const noexcept {
    const std::int64_t difference = query - key;
    return static_cast<double>(difference < 0 ? -difference : difference);
  }
};

// The distances key - query that a block has or could have, consecutive.
struct Distances {
  std::int64_t lowest = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t index_of(const PairOfPositions& pair) const noexcept {
    return pair.relative() - lowest;
  }
  // A pair that has the one at index.
  [[nodiscard]] PairOfPositions pair(std::int64_t index) const noexcept {
    return {.query = 0, .key = lowest + index};
  }
};

// Positions of rows and columns, consecutive or given one by one.
class PairPositions {
 public:
  [[nodiscard]] static Result<PairPositions> of(const ScoresExtents& extents,
                                                const BiasRange& range);
  [[nodiscard]] static Result<PairPositions> of(const ScoresExtents& extents,
                                                const BiasPositions& positions);

  [[nodiscard]] PairOfPositions at(std::int64_t row, std::int64_t column) const noexcept {
    return {.query = query(row), .key = key(column)};
  }
  [[nodiscard]] std::int64_t query(std::int64_t row) const noexcept {
    return queries_ == nullptr ? range_.first_query + row : queries_[row];
  }
  [[nodiscard]] std::int64_t key(std::int64_t column) const noexcept {
    return keys_ == nullptr ? range_.first_key + column : keys_[column];
  }
  // Equal distances lie on diagonals.
  [[nodiscard]] bool is_consecutive() const noexcept { return queries_ == nullptr; }

  // Those between the lowest and the highest, where there are no more than pairs and no more than
  // a few rows and columns would hold: always of a range. Requires a block that is not empty.
  [[nodiscard]] std::optional<Distances> distances(const ScoresExtents& extents) const noexcept;

 private:
  BiasRange range_;
  std::int64_t lowest_ = 0;   // key - query
  std::int64_t highest_ = 0;  // likewise
  const std::int64_t* queries_ = nullptr;
  const std::int64_t* keys_ = nullptr;
};

}  // namespace rotary::relative
