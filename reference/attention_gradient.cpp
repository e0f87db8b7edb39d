// SPDX-License-Identifier: Apache-2.0
// The chain rule through attention.cpp, row by row.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "reference/attention.hpp"
#include "reference/attention_case.hpp"
#include "reference/relative.hpp"

namespace rotary::reference {
namespace {

// y += factor x
void add(double* y, double factor, const double* x, std::size_t features) {
  for (std::size_t f = 0; f < features; ++f) y[f] += factor * x[f];
}

double dot(const double* x, const double* y, std::size_t features) {
  double sum = 0;
  for (std::size_t f = 0; f < features; ++f) sum += x[f] * y[f];
  return sum;
}

class Backward {
 public:
  // turned_q collects the gradients of rotated queries, gradients.q those of unrotated queries
  // (Shaw, CoPE), and gradients.k those of rotated keys.
  Backward(const AttentionCase& of, AttentionGradients& gradients, Heads& turned_q)
      : of_(of), encoding_(of.attention.encoding), to_(gradients), turned_q_(turned_q) {}

  // d_out: the gradient of this row's out, [features of v].
  void add_row(const QueryIndex& at, const double* d_out) {
    const AttentionRow row = row_of(of_, at);
    std::vector<double> d_scores = through_softmax(row, through_values(at, row, d_out));
    if (!encoding_.cope.empty()) add_cope(at, row, d_scores);
    to_.bias.insert(to_.bias.end(), d_scores.begin(), d_scores.end());
    add_products(at, row, d_scores);
  }

 private:
  // The gradient of the weights in out = Σ_j weight_j (v_j + a'_ij).
  std::vector<double> through_values(const QueryIndex& at, const AttentionRow& row,
                                     const double* d_out) {
    const std::size_t features = size_of(of_.v.extents.features);
    std::vector<double> d_weights(row.weights.size());
    for (std::size_t j = 0; j < d_weights.size(); ++j) {
      if (row.masked(j)) continue;
      const auto key = static_cast<std::int64_t>(j);
      const std::size_t v = key_offset(of_, of_.v, at, key);
      d_weights[j] = dot(of_.v.values.data() + v, d_out, features);
      add(to_.v.values.data() + v, row.weights[j], d_out, features);
      if (!encoding_.shaw_values) continue;
      const std::size_t a = shaw_offset(encoding_.shaw_values->window, at, key, features);
      d_weights[j] += dot(encoding_.shaw_values->table.data() + a, d_out, features);
      add(to_.shaw_values.data() + a, row.weights[j], d_out, features);
    }
    return d_weights;
  }

  // ∂weight_j/∂score_t = weight_j ([j = t] - weight_t).
  static std::vector<double> through_softmax(const AttentionRow& row,
                                             const std::vector<double>& d_weights) {
    double mean = 0;
    for (std::size_t j = 0; j < d_weights.size(); ++j) mean += row.weights[j] * d_weights[j];
    std::vector<double> d_scores;
    for (std::size_t j = 0; j < d_weights.size(); ++j)
      d_scores.push_back(row.weights[j] * (d_weights[j] - mean));
    return d_scores;
  }

  // bias_j = Σ_r max(0, 1 - |position_j - r|) q · e_r, position_j = min(Σ_(t >= j) gate_t, last).
  // Between r and r + 1 the slope of bias_j is q · (e_(r+1) - e_r). It is 0 at integer positions
  // and where the position is clipped.
  void add_cope(const QueryIndex& at, const AttentionRow& row, std::vector<double>& d_scores) {
    const std::size_t features = size_of(of_.q.extents.features);
    const std::size_t last = encoding_.cope.size() / features - 1;
    const double* q = of_.q.values.data() + query_offset(of_, at);
    double* d_q = to_.q.values.data() + query_offset(of_, at);
    const std::vector<double> gates = gates_of(at, row);
    std::vector<double> d_sums(gates.size());
    double sum = 0;
    for (std::size_t j = gates.size(); j-- > 0;) {
      sum += gates[j];
      if (row.masked(j) || !counts(at, j)) continue;
      const double position = std::min(sum, static_cast<double>(last));
      const auto below = static_cast<std::size_t>(position);
      const double share = position - static_cast<double>(below);
      const double* e = encoding_.cope.data() + below * features;
      double* d_e = to_.cope.data() + below * features;
      add(d_q, (1 - share) * d_scores[j], e, features);
      add(d_e, (1 - share) * d_scores[j], q, features);
      if (share == 0) continue;
      add(d_q, share * d_scores[j], e + features, features);
      add(d_e + features, share * d_scores[j], q, features);
      d_sums[j] = d_scores[j] * (dot(q, e + features, features) - dot(q, e, features));
    }
    double before = 0;  // Σ_(j <= t) d_sums_j: every sum that includes gate t
    for (std::size_t t = 0; t < gates.size(); ++t) {
      before += d_sums[t];
      d_scores[t] += before * gates[t] * (1 - gates[t]);
    }
  }

  [[nodiscard]] bool counts(const QueryIndex& at, std::size_t j) const {
    const BiasIndex pair = positions_of_pair(of_, at, static_cast<std::int64_t>(j));
    return pair.key <= pair.query;
  }

  [[nodiscard]] std::vector<double> gates_of(const QueryIndex& at, const AttentionRow& row) const {
    std::vector<double> gates;
    for (std::size_t j = 0; j < row.scores.size(); ++j)
      gates.push_back(counts(at, j) ? 1 / (1 + std::exp(-row.scores[j])) : 0.0);
    return gates;
  }

  // ∂ cap tanh(x / cap) / ∂x = 1 - tanh²(x / cap).
  [[nodiscard]] double slope_of_cap(const QueryIndex& at, std::int64_t key) const {
    const auto& cap = of_.attention.softcap;
    if (!cap) return 1;
    const double tanh = std::tanh(scaled_product(of_, at, key) / *cap);
    return 1 - tanh * tanh;
  }

  // score_ij = cap(scale (q'_i · k'_j + q_i · a_ij)).
  void add_products(const QueryIndex& at, const AttentionRow& row,
                    const std::vector<double>& d_scores) {
    const std::size_t features = size_of(of_.q.extents.features);
    const std::size_t i = query_offset(of_, at);
    for (std::size_t j = 0; j < d_scores.size(); ++j) {
      if (row.masked(j)) continue;
      const auto key = static_cast<std::int64_t>(j);
      const double d_product = of_.attention.scale * d_scores[j] * slope_of_cap(at, key);
      const std::size_t k = key_offset(of_, of_.turned_k, at, key);
      add(turned_q_.values.data() + i, d_product, of_.turned_k.values.data() + k, features);
      add(to_.k.values.data() + k, d_product, of_.turned_q.values.data() + i, features);
      if (!encoding_.shaw_keys) continue;
      const std::size_t a = shaw_offset(encoding_.shaw_keys->window, at, key, features);
      add(to_.q.values.data() + i, d_product, encoding_.shaw_keys->table.data() + a, features);
      add(to_.shaw_keys.data() + a, d_product, of_.q.values.data() + i, features);
    }
  }

  [[nodiscard]] std::size_t shaw_offset(const ShawWindow& window, const QueryIndex& at,
                                        std::int64_t key, std::size_t features) const {
    return size_of(shaw_row(window, positions_of_pair(of_, at, key))) * features;
  }

  const AttentionCase& of_;
  const AttentionEncoding& encoding_;
  AttentionGradients& to_;
  Heads& turned_q_;
};

Heads zeros_like(const Heads& heads) {
  return {heads.extents, std::vector<double>(heads.values.size(), 0.0)};
}

std::vector<double> zeros_like(const std::optional<ShawVectors>& shaw) {
  std::vector<double> zeros;
  if (shaw) zeros.resize(shaw->table.size());
  return zeros;
}

// Takes the gradients of q' = A R (factor q) and k' = A R k back to those of q and k.
void turn_back(AttentionGradients& gradients, const AttentionCase& of, Heads turned_q) {
  const Attention& attention = of.attention;
  if (const auto& rotary = attention.encoding.rotary) {
    turned_q = turned(turned_q, of.query_positions, {*rotary, Role::query, Direction::transpose});
    gradients.k = turned(gradients.k, of.key_positions, {*rotary, Role::key, Direction::transpose});
  }
  std::vector<double>& d_q = gradients.q.values;
  const std::size_t token = size_of(of.q.extents.heads * of.q.extents.features);
  for (std::size_t i = 0; i < d_q.size(); ++i) {
    d_q[i] += turned_q.values[i];
    if (!attention.query_factors.empty()) d_q[i] *= attention.query_factors[i / token];
  }
}

}  // namespace

AttentionGradients attention_gradients(const AttentionInputs& inputs, const Attention& attention,
                                       const Heads& d_out) {
  const AttentionCase of = case_of(inputs, attention);
  AttentionGradients gradients{.q = zeros_like(inputs.q),
                               .k = zeros_like(inputs.k),
                               .v = zeros_like(inputs.v),
                               .bias = {},
                               .shaw_keys = zeros_like(attention.encoding.shaw_keys),
                               .shaw_values = zeros_like(attention.encoding.shaw_values),
                               .cope = std::vector<double>(attention.encoding.cope.size(), 0.0)};
  Heads turned_q = zeros_like(inputs.q);
  Backward backward(of, gradients, turned_q);
  for_each_query(of, [&](const QueryIndex& at) {
    backward.add_row(at,
                     d_out.values.data() + offset_of(d_out.extents, at.batch, at.query, at.head));
  });
  turn_back(gradients, of, std::move(turned_q));
  return gradients;
}

}  // namespace rotary::reference
