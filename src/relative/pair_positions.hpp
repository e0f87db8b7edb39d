// SPDX-License-Identifier: Apache-2.0
// The positions of the rows (queries) and columns (keys) of a block of scores, checked so that
// every distance fits int64.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::relative {

struct PairOfPositions {
  std::int64_t query = 0;
  std::int64_t key = 0;

  // key - query, the sign that T5 uses.
  [[nodiscard]] std::int64_t relative() const noexcept { return key - query; }
  // |query - key|. Distances above 2^53 are rounded to the nearest double.
  [[nodiscard]] double distance() const noexcept {
    const std::int64_t difference = query - key;
    return static_cast<double>(difference < 0 ? -difference : difference);
  }
};

// Successive distances key - query that include every distance of a block.
struct Distances {
  std::int64_t lowest = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t index_of(const PairOfPositions& pair) const noexcept {
    return pair.relative() - lowest;
  }
  // A pair of positions whose distance is the one at `index`.
  [[nodiscard]] PairOfPositions pair(std::int64_t index) const noexcept {
    return {.query = 0, .key = lowest + index};
  }
};

// The positions of rows and columns: consecutive, or given one by one.
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
  // True if positions are consecutive. Equal distances are then on diagonals of the block.
  [[nodiscard]] bool is_consecutive() const noexcept { return queries_ == nullptr; }

  // Returns all distances from the lowest to the highest. Returns nothing if they are more than the
  // pairs of the block, or more than 8 times the sum of its rows and columns. Consecutive positions
  // always give distances. Requires a block that is not empty.
  [[nodiscard]] std::optional<Distances> distances(const ScoresExtents& extents) const noexcept;

 private:
  BiasRange range_;
  std::int64_t lowest_ = 0;   // key - query
  std::int64_t highest_ = 0;  // key - query
  const std::int64_t* queries_ = nullptr;
  const std::int64_t* keys_ = nullptr;
};

}  // namespace rotary::relative
