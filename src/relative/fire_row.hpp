// SPDX-License-Identifier: Apache-2.0
// Computes FIRE biases row by row: the x of FIRE's formula for each key, then stretches of keys on
// one straight piece of the network. Sums the gradients of FIRE's parameters row by row, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "relative/evaluators.hpp"
#include "relative/pair_positions.hpp"

namespace rotary::relative {

class FireRow {
 public:
  FireRow(const FireEvaluator& evaluate, const PairPositions& positions, const ScoresExtents& n);

  // Makes `query` the current row.
  void read(std::int64_t query);
  // The biases of the row's keys, valid until the next call.
  [[nodiscard]] std::span<const double> values(std::int64_t head) noexcept;

  // Successive keys on the same straight piece, from the end of the previous stretch up to `end`.
  struct Stretch {
    std::size_t end = 0;
    std::size_t piece = 0;
  };
  [[nodiscard]] std::span<const Stretch> stretches() const noexcept {
    return std::span(stretches_).first(stretch_count_);
  }
  // The input x of FIRE's network for each key in the current row.
  [[nodiscard]] std::span<const double> terms() const noexcept { return terms_; }

 private:
  [[nodiscard]] double numerator(std::int64_t query, std::int64_t column) const noexcept;

  const FireEvaluator& evaluate_;
  const PairPositions& positions_;
  std::optional<Distances> distances_;
  std::vector<double> numerators_;  // [distances], or empty without distances_
  std::vector<double> terms_;       // [keys]
  std::vector<double> values_;      // [keys]
  std::vector<Stretch> stretches_;  // [keys], of which stretch_count_ are used
  std::size_t stretch_count_ = 0;
};

// Sums the gradients of FIRE's parameters. For each head and straight piece it keeps two sums over
// scores: of the gradients g, and of g * x. finish() turns them into the hidden units' gradients.
class FireGradient {
 public:
  // keys: the number of keys in a row.
  FireGradient(const FireEvaluator& evaluate, std::int64_t keys);

  // Adds one head of the current row; d_bias[key] is the gradient of that key's score.
  void add(const FireRow& row, std::int64_t head, std::span<const double> d_bias);
  // Call after all heads of a row. Adds the row's gradients of c and threshold to sums.
  void finish_row(std::span<double> sums, const FireRow& row, const PairPositions& positions,
                  std::int64_t query);
  // Call after all rows. Adds the gradients of the network's weights and biases to sums.
  void finish(std::span<double> sums) const;

 private:
  const FireEvaluator& evaluate_;
  std::vector<StraightPiece> sums_;  // [heads][pieces]: Σ g x in slope, Σ g in offset
  std::vector<double> d_x_;          // [keys]: gradients of x, summed over the heads so far
};

}  // namespace rotary::relative
