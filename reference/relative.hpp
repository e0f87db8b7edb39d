// SPDX-License-Identifier: Apache-2.0
// Relative position biases in long double, written from the papers: buckets by comparing powers
// where T5 takes logarithms, slopes by Press' recursion, Sandwich as the inner product of two
// sinusoidal embeddings, Shaw with a vector for every pair of tokens, CoPE with a sum for every
// key.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::reference {

// The bucket with real logarithms, and whether the distance lies on the edge of a bucket or within
// a relative margin of it, where float32 may give the other bucket.
struct Bucket {
  std::int64_t bucket = 0;
  bool on_edge = false;
};
[[nodiscard]] Bucket t5_bucket(std::int64_t relative_position, const T5Buckets& spec);

// By the recursion of Press et al.
[[nodiscard]] std::vector<long double> alibi_slopes(const Alibi& alibi);
// As MPT splits them: the same numbers.
[[nodiscard]] std::vector<long double> mpt_slopes(std::int64_t heads, long double bias_max);

// The bias, and the sum of the magnitudes of its terms.
struct Bias {
  long double value = 0;
  long double magnitude = 0;
};
[[nodiscard]] Bias relative_bias(const RelativeBias& bias, const BiasIndex& at);

// The row of Shaw's table for a query and a key.
[[nodiscard]] std::int64_t shaw_row(const ShawWindow& window, const BiasIndex& at);

// Matrices, [rows][columns].
using Matrix = std::vector<std::vector<long double>>;

// One head: queries at first_query + r, keys at first_key + c.
struct ShawCase {
  ShawWindow window;
  Matrix table;  // [window.rows()][features]
  BiasRange range;
};
[[nodiscard]] Matrix add_shaw_scores(const Matrix& q, std::int64_t keys, const ShawCase& shaw);
[[nodiscard]] Matrix add_shaw_values(const Matrix& weights, const ShawCase& shaw);

// The bias of the scores of one head; 0 after the query.
[[nodiscard]] Matrix cope_bias(const Matrix& scores, const Matrix& q, const Matrix& table,
                               const BiasRange& range);

}  // namespace rotary::reference
