// SPDX-License-Identifier: Apache-2.0
// CoPE, contextual position encoding: the position of a key is the sum of the gates of the keys
// from it up to the query. A gate is between 0 and 1 and depends on its key's score. Golovneva et
// al. 2024 (arXiv 2405.18719), appendix B. Clipped RoPE, also called CoPE, is ClippedScaling.
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

// For scores s of query i: gate_t = 1 / (1 + e^-s_t), position_j = min(Σ_{t=j}^{i} gate_t, rows -
// 1), and key j has the bias q · table[position_j], linearly interpolated between table rows.
struct Cope {
  ConstTableView table;  // [positions, features], at least one row, shared by all heads
};

// scores[b][h][r][c] += the bias, for keys up to the query; later keys keep their scores. Scores
// are those that enter softmax (divided by sqrt(head_dim), masked with -Inf). range.first_key +
// keys must be beyond the position of the last query. A decode step gives the bits of the same row
// of a prefill. Sums are double, rounded once.
[[nodiscard]] ROTARY_API Status add_cope(const ScoresView& scores, const ConstHeadsView& q,
                                         const Cope& cope, const BiasRange& range) noexcept;

// The inputs of add_cope(), with the scores from before the call.
struct CopeInputs {
  ConstScoresView scores;
  ConstHeadsView q;
};

// The gradients that a call adds to: scores [batch, heads, queries, keys], q [batch, queries,
// heads, features], table [positions][features].
struct CopeGradients {
  ScoresView scores;
  HeadsView q;
  std::span<double> table;
};

// The backward pass of add_cope(). d_scores: the gradient of the scores that add_cope() wrote.
// Clipped positions and whole numbers have derivative 0, as in the authors' code.
[[nodiscard]] ROTARY_API Status add_cope_gradient(const CopeGradients& gradients,
                                                  const CopeInputs& inputs, const Cope& cope,
                                                  const ConstScoresView& d_scores,
                                                  const BiasRange& range) noexcept;

}  // namespace rotary

#endif  // ROTARY_COPE_HPP
