// SPDX-License-Identifier: Apache-2.0
// CoPE, contextual position encoding: the position of a key counts the keys from it up to the
// query, each weighted by a gate between 0 and 1 that depends on its score. Golovneva et al. 2024
// (arXiv 2405.18719), appendix B. Clipped RoPE, also called CoPE, is ClippedScaling.
//
//   const Cope cope{.table = {table.data(), DType::f32, 64, 128, 128}};
//   add_cope(scores, q, cope, {});
#ifndef ROTARY_COPE_HPP
#define ROTARY_COPE_HPP

#include <span>

#include "rotary/export.h"
#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// With s the causal scores of query i: gate_t = 1 / (1 + e^-s_t) and position_j = min(Σ_{t=j}^{i}
// gate_t, rows - 1). The bias of key j is q · table[position_j]; between two table rows it is the
// linear blend of both products.
struct Cope {
  ConstTableView table;  // [positions, features], at least one row, shared by all heads
};

// scores[b][h][r][c] += the bias, for keys up to the query; later keys keep their scores. Scores
// are as they enter softmax (divided by sqrt(head_dim), masked with -Inf). The view must hold each
// query's own key: range.first_key + keys > the position of the last query. A decode step then
// gives the bits of the same row in a whole computation. Sums are double, rounded once.
[[nodiscard]] ROTARY_API Status add_cope(const ScoresView& scores, const ConstHeadsView& q,
                                         const Cope& cope, const BiasRange& range) noexcept;

// The inputs of add_cope(), with the scores from before the call.
struct CopeInputs {
  ConstScoresView scores;
  ConstHeadsView q;
};

// The gradients that a call adds to: [batch, heads, queries, keys], [batch, queries, heads,
// features] and [positions][features].
struct CopeGradients {
  ScoresView scores;
  HeadsView q;
  std::span<double> table;
};

// d_scores: the gradient of the scores that add_cope() wrote. A position on a whole number, or
// clipped, has derivative 0, as in the authors' code.
[[nodiscard]] ROTARY_API Status add_cope_gradient(const CopeGradients& gradients,
                                                  const CopeInputs& inputs, const Cope& cope,
                                                  const ConstScoresView& d_scores,
                                                  const BiasRange& range) noexcept;

}  // namespace rotary

#endif  // ROTARY_COPE_HPP
