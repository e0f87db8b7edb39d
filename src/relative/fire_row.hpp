// SPDX-License-Identifier: Apache-2.0
// One row of FIRE for all heads: x of each key, and which keys in a row lie on the same straight
// piece of the network. And the gradient of its parameters, row by row.
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

  // Makes the query of this row current.
  void read(std::int64_t query);
  // The biases of the row's keys, valid until the next call.
  [[nodiscard]] std::span<const double> values(std::int64_t head) noexcept;

  // Keys up to `end`, from where the one before ends.
  struct Stretch {
    std::size_t end = 0;
    std::size_t piece = 0;
  };
  [[nodiscard]] std::span<const Stretch> stretches() const noexcept {
    return std::span(stretches_).first(stretch_count_);
  }
  // x of each key.
  [[nodiscard]] std::span<const double> terms() const noexcept { return terms_; }

 private:
  [[nodiscard]] double numerator(std::int64_t query, std::int64_t column) const noexcept;

  const FireEvaluator& evaluate_;
  const PairPositions& positions_;
  std::optional<Distances> distances_;
  std::vector<double> numerators_;  // of each distance, where they are few
  std::vector<double> terms_;       // [keys]
  std::vector<double> values_;      // [keys]
  std::vector<Stretch> stretches_;  // the first stretch_count_ of [keys]
  std::size_t stretch_count_ = 0;
};

// On a straight piece of the network each head needs two sums over its scores, of the gradients g
// and of g x; what each hidden unit gets follows from those at the end.
class FireGradient {
 public:
  // keys: of a row.
  FireGradient(const FireEvaluator& evaluate, std::int64_t keys);

  // One head of the row that is current; d_bias holds the gradients of its keys.
  void add(const FireRow& row, std::int64_t head, std::span<const double> d_bias);
  // After all heads of a row, which stands at `query`: c and threshold, of their gradients.
  void finish_row(std::span<double> sums, const FireRow& row, const PairPositions& positions,
                  std::int64_t query);
  // After all rows: the network's.
  void finish(std::span<double> sums) const;

 private:
  const FireEvaluator& evaluate_;
  std::vector<StraightPiece> sums_;  // [heads][pieces]: Σ g x in slope, Σ g in offset
  std::vector<double> d_x_;          // [keys], over the heads so far
};

}  // namespace rotary::relative
