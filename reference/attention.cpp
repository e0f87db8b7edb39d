// SPDX-License-Identifier: Apache-2.0
// Computes attention row by row. Sources: Vaswani et al. 2017 (arXiv 1706.03762), eq. 1; Shaw et
// al. 2018 (arXiv 1803.02155), eqs. 3 to 5; CoPE: Golovneva et al. 2024, appendix B. The order is
// that of models: scale, then cap (Gemma 2), then add biases (T5, ALiBi).
#include "reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "reference/attention_case.hpp"
#include "reference/relative.hpp"

namespace rotary::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One query of one head, with all keys: scores and weights are [keys].
struct AttentionRow {
  std::vector<double> scores;  // masked with -Inf, before CoPE
  std::vector<double> weights;
  double log_sum_exp = 0;
};

// q · k plus q · a of Shaw, before the scale. Shaw's vector a already depends on the distance, so
// the unrotated query multiplies it.
double product(const AttentionCase& of, const QueryIndex& at, std::int64_t key) {
  const double* turned_q = of.turned_q.values.data() + query_offset(of, at);
  const double* turned_k = of.turned_k.values.data() + key_offset(of, of.turned_k, at, key);
  const std::size_t features = size_of(of.q.extents.features);
  double sum = 0;
  for (std::size_t f = 0; f < features; ++f) sum += turned_q[f] * turned_k[f];
  if (const auto& shaw = of.attention.encoding.shaw_keys) {
    const std::int64_t row = shaw_row(shaw->window, positions_of_pair(of, at, key));
    const double* q = of.q.values.data() + query_offset(of, at);
    const double* a = shaw->table.data() + size_of(row) * features;
    for (std::size_t f = 0; f < features; ++f) sum += q[f] * a[f];
  }
  return sum;
}

// The CoPE bias of a row. Keys after the query are not counted and get no bias, even if the query
// sees them.
std::vector<double> cope_row(const AttentionCase& of, const QueryIndex& at,
                             const std::vector<double>& scores) {
  const std::vector<double>& table = of.attention.encoding.cope;
  const std::size_t features = size_of(of.q.extents.features);
  Matrix rows;
  for (std::size_t i = 0; i < table.size(); i += features)
    rows.emplace_back(table.data() + i, table.data() + i + features);
  const double* q = of.q.values.data() + query_offset(of, at);
  Matrix counted = {{scores.begin(), scores.end()}};
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const BiasIndex pair = positions_of_pair(of, at, static_cast<std::int64_t>(j));
    if (pair.key > pair.query) counted[0][j] = -std::numeric_limits<long double>::infinity();
  }
  const BiasRange all{.first_query = of.turned_k.extents.tokens};  // the gate of masked keys is 0
  const Matrix bias = cope_bias(counted, {{q, q + features}}, rows, all);
  std::vector<double> added(scores.size());
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (!std::isinf(counted[0][j])) added[j] = static_cast<double>(bias[0][j]);
  }
  return added;
}

// Subtracts the largest score first, so that no exponential overflows.
void softmax(AttentionRow& row, const std::vector<double>& scores) {
  double most = -infinity;
  for (const double score : scores) most = std::max(most, score);
  row.weights.assign(scores.size(), 0.0);
  row.log_sum_exp = -infinity;
  const auto is_masked = [](double score) { return score == -infinity; };
  if (std::all_of(scores.begin(), scores.end(), is_masked)) return;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - most);
  row.log_sum_exp = most + std::log(sum);
  for (std::size_t j = 0; j < scores.size(); ++j) row.weights[j] = std::exp(scores[j] - most) / sum;
}

AttentionRow row_of(const AttentionCase& of, const QueryIndex& at) {
  AttentionRow row;
  for (std::int64_t key = 0; key < of.turned_k.extents.tokens; ++key)
    row.scores.push_back(sees(of, at, key) ? score_of(of, at, key) : -infinity);
  std::vector<double> scores = row.scores;
  if (!of.attention.encoding.cope.empty()) {
    const std::vector<double> bias = cope_row(of, at, row.scores);
    for (std::size_t j = 0; j < scores.size(); ++j) scores[j] += bias[j];
  }
  softmax(row, scores);
  return row;
}

// out += Σ_j weight_j (v_j + a'_ij).
void add_values(double* out, const AttentionCase& of, const QueryIndex& at,
                const AttentionRow& row) {
  const std::size_t features = size_of(of.v.extents.features);
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    if (row.scores[j] == -infinity) continue;  // a masked value is not even multiplied by 0
    const auto key = static_cast<std::int64_t>(j);
    const double* v = of.v.values.data() + key_offset(of, of.v, at, key);
    for (std::size_t f = 0; f < features; ++f) out[f] += row.weights[j] * v[f];
    if (const auto& shaw = of.attention.encoding.shaw_values) {
      const std::int64_t place = shaw_row(shaw->window, positions_of_pair(of, at, key));
      const double* a = shaw->table.data() + size_of(place) * features;
      for (std::size_t f = 0; f < features; ++f) out[f] += row.weights[j] * a[f];
    }
  }
}

}  // namespace

double score_of(const AttentionCase& of, const QueryIndex& at, std::int64_t key) {
  double score = of.attention.scale * product(of, at, key);
  if (const auto& cap = of.attention.softcap) score = *cap * std::tanh(score / *cap);
  if (const auto& bias = of.attention.encoding.bias)
    score += static_cast<double>(relative_bias(*bias, positions_of_pair(of, at, key)).value);
  const std::vector<double>& numbers = of.attention.mask.numbers;
  return numbers.empty() ? score : score + numbers[pair_offset(of, at, key)];
}

AttentionResult attention(const AttentionInputs& inputs, const Attention& attention) {
  const AttentionCase of = case_of(inputs, attention);
  AttentionResult result;
  result.out.extents = inputs.q.extents;
  result.out.extents.features = inputs.v.extents.features;
  const Extents& n = result.out.extents;
  result.out.values.assign(size_of(n.batch * n.tokens * n.heads * n.features), 0.0);
  for_each_query(of, [&](const QueryIndex& at) {
    const AttentionRow row = row_of(of, at);
    result.log_sum_exp.push_back(row.log_sum_exp);
    result.weights.insert(result.weights.end(), row.weights.begin(), row.weights.end());
    add_values(result.out.values.data() + offset_of(n, at.batch, at.query, at.head), of, at, row);
  });
  return result;
}

}  // namespace rotary::reference
