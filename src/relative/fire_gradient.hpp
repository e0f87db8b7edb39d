// SPDX-License-Identifier: Apache-2.0
// The gradient of FIRE's parameters. On a straight piece of the network each head needs two sums
// over its scores, of the gradients g and of g x; what each hidden unit gets follows from those at
// the end.
#pragma once

#include <span>
#include <vector>

#include "relative/fire_row.hpp"

namespace rotary::relative {

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
