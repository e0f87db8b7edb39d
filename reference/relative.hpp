// SPDX-License-Identifier: Apache-2.0
// Relative biases in long double, from the papers, in their plainest form. T5's buckets compare
// powers instead of logarithms. Slopes use Press' recursion. Sandwich multiplies two sinusoidal
// embeddings. Shaw stores a vector for each pair of tokens, and CoPE sums anew for each key.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::reference {

// The bucket in exact arithmetic. on_edge: the distance is so close to a bucket's edge that float32
// may give the neighbour.
struct Bucket {
  std::int64_t bucket = 0;
  bool on_edge = false;
};
[[nodiscard]] Bucket t5_bucket(std::int64_t relative_position, const T5Buckets& spec);

// Slopes by Press et al.'s recursion.
[[nodiscard]] std::vector<long double> alibi_slopes(const Alibi& alibi);
// Slopes by MPT's formula, which gives the same numbers.
[[nodiscard]] std::vector<long double> mpt_slopes(std::int64_t heads, long double bias_max);

// The bias, and the sum of its terms' magnitudes.
struct Bias {
  long double value = 0;
  long double magnitude = 0;
};
[[nodiscard]] Bias relative_bias(const RelativeBias& bias, const BiasIndex& at);

// The row of Shaw's table for a query and a key.
[[nodiscard]] std::int64_t shaw_row(const ShawWindow& window, const BiasIndex& at);

// [rows][columns].
using Matrix = std::vector<std::vector<long double>>;

// One head, with queries at first_query + r and keys at first_key + c.
struct ShawCase {
  ShawWindow window;
  Matrix table;  // [window.rows()][features]
  BiasRange range;
};
[[nodiscard]] Matrix add_shaw_scores(const Matrix& q, std::int64_t keys, const ShawCase& shaw);
[[nodiscard]] Matrix add_shaw_values(const Matrix& weights, const ShawCase& shaw);

// CoPE's bias of one head's scores; 0 for keys after the query.
[[nodiscard]] Matrix cope_bias(const Matrix& scores, const Matrix& q, const Matrix& table,
                               const BiasRange& range);

}  // namespace rotary::reference
