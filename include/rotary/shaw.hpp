// SPDX-License-Identifier: Apache-2.0
// Relative position representations: two learned vectors for each distance within a window. One is
// multiplied by the query and added to the score; the other is added to the value. Shaw et al. 2018
// (arXiv 1803.02155), equations 3 and 4. No call stores a vector for each pair of tokens.
//
//   const ShawTable keys{.window = {16, 16}, .table = {table.data(), DType::f32, 33, 64, 64}};
//   add_shaw_scores(scores, q, keys, {});
#ifndef ROTARY_SHAW_HPP
#define ROTARY_SHAW_HPP

#include <cstdint>
#include <span>

#include "rotary/export.h"
#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// For a query at i, the key at j uses row left + clip(j - i, -left, right). The paper calls both
// limits K; Transformers' wav2vec2-bert calls them {left,right}_max_position_embeddings.
struct ShawWindow {
  std::int64_t left = 0;   // in [0, 2^40]
  std::int64_t right = 0;  // in [0, 2^40]

  [[nodiscard]] constexpr std::int64_t rows() const noexcept { return left + right + 1; }
  friend bool operator==(const ShawWindow&, const ShawWindow&) = default;
};

// The table row of a relative position, which is the key's position minus the query's.
[[nodiscard]] ROTARY_API Result<std::int64_t> shaw_row(std::int64_t relative_position,
                                                       const ShawWindow& window) noexcept;

// Shaw's vectors, one for each clipped distance.
struct ShawTable {
  ShawWindow window;
  ConstTableView table;  // [window.rows(), features], shared by all heads
};

// scores[b][h][r][c] += Σ_f q[b][r][h][f] table[row of c - r][f], in double, rounded once. Pass q
// scaled as it was for the scores. add_shaw_values() computes the gradient of q, with the gradient
// of the scores as weights.
[[nodiscard]] ROTARY_API Status add_shaw_scores(const ScoresView& scores, const ConstHeadsView& q,
                                                const ShawTable& keys,
                                                const BiasRange& range) noexcept;

// out[b][r][h][f] += Σ_c weights[b][h][r][c] table[row of c - r][f], in double, rounded once. The
// gradient of the weights is add_shaw_scores() with the gradient of out as q.
[[nodiscard]] ROTARY_API Status add_shaw_values(const HeadsView& out,
                                                const ConstScoresView& weights,
                                                const ShawTable& values,
                                                const BiasRange& range) noexcept;

// The gradient of a table: [window.rows()][features].
struct ShawGradient {
  std::span<double> table;
  ShawWindow window;
};

// gradient.table[row][f] += Σ scores[b][h][r][c] vectors[b][r][h][f] over all queries and keys that
// use the row, in a fixed order. For the table of add_shaw_scores, pass the gradient of the scores
// and q. For the table of add_shaw_values, pass the weights and the gradient of out.
[[nodiscard]] ROTARY_API Status add_shaw_gradient(const ShawGradient& gradient,
                                                  const ConstScoresView& scores,
                                                  const ConstHeadsView& vectors,
                                                  const BiasRange& range) noexcept;

}  // namespace rotary

#endif  // ROTARY_SHAW_HPP
