// SPDX-License-Identifier: Apache-2.0
#include "golden/attention_calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "reference/tensor.hpp"
#include "rotary/relative.hpp"
#include "rotary/rotary.hpp"
#include "support/attention.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

using reference::Heads;

constexpr double infinity = std::numeric_limits<double>::infinity();

Heads zeros_like(const Heads& heads) {
  return {.extents = heads.extents, .values = Numbers(heads.values.size())};
}

// Of a head, its features.
std::span<double> row_of(Heads& heads, const reference::HeadIndex& at) {
  const Extents& n = heads.extents;
  const std::int64_t row = (at.batch * n.tokens + at.token) * n.heads + at.head;
  return std::span(heads.values)
      .subspan(static_cast<std::size_t>(row * n.features), static_cast<std::size_t>(n.features));
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t f = 0; f < a.size(); ++f) sum += a[f] * b[f];
  return sum;
}

void add_scaled(std::span<double> sum, double factor, std::span<const double> x) {
  for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += factor * x[f];
}

Heads turned(const AttentionGolden& of, const Heads& heads, Role role, Direction direction) {
  if (!of.rotary) return heads;
  const auto& positions =
      role == Role::query ? of.attention.query_positions : of.attention.key_positions;
  RotationsOptions options{.rows = RowDType::f64};
  if (of.rotary->xpos) options.role = role;
  const auto rotations =
      value_of(make_rotations(value_of(make_frequencies(*of.rotary)),
                              positions_of(positions, heads.extents.batch), options));
  Heads result = heads;
  require(rotate(view_of(result), view_of(result), rotations, {.direction = direction}));
  return result;
}

// A query of one of its heads, a key, and where their score is.
struct Pair {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;
  std::size_t score = 0;
};

std::span<double> of_query(Heads& heads, const Pair& at) {
  return row_of(heads, {.batch = at.batch, .token = at.query, .head = at.head});
}

// Of the features of these heads.
ShawTable table_of(const reference::ShawVectors& vectors, const Heads& heads) {
  return {vectors.window, matrix_of(vectors.table, heads.extents.features)};
}

class Calls {
 public:
  explicit Calls(const AttentionGolden& of)
      : of_(of),
        q_(turned(of, of.inputs.q, Role::query, Direction::forward)),
        k_(turned(of, of.inputs.k, Role::key, Direction::forward)),
        v_(of.inputs.v),
        d_out_(of.d_out),
        n_{.batch = q_.extents.batch,
           .heads = q_.extents.heads,
           .queries = q_.extents.tokens,
           .keys = k_.extents.tokens},
        // Of Shaw and CoPE, whose positions in the file are consecutive, or begin again in each
        // document: then distances within a document are right, and others are not seen.
        range_{.first_query = of.attention.key_positions.front() + n_.keys - n_.queries,
               .first_key = of.attention.key_positions.front()} {}

  AttentionNumbers run() {
    make_scores();
    make_weights();
    make_out();
    Numbers d_scores = gradient_of_values();
    through_softmax(d_scores);
    through_scores(d_scores);
    return std::move(numbers_);
  }

 private:
  template <class Visit>
  void for_each_pair(Visit visit) {
    std::size_t score = 0;
    for (std::int64_t b = 0; b < n_.batch; ++b)
      for (std::int64_t h = 0; h < n_.heads; ++h)
        for (std::int64_t i = 0; i < n_.queries; ++i)
          for (std::int64_t j = 0; j < n_.keys; ++j)
            visit(Pair{.batch = b, .head = h, .query = i, .key = j, .score = score++});
  }

  [[nodiscard]] std::span<double> of_key(Heads& heads, const Pair& at) const {
    const std::int64_t group = n_.heads / heads.extents.heads;
    return row_of(heads, {.batch = at.batch, .token = at.key, .head = at.head / group});
  }

  [[nodiscard]] ScoresView view(Numbers& scores) const { return scores_of(scores, n_); }

  [[nodiscard]] const reference::AttentionEncoding& encoding() const {
    return of_.attention.encoding;
  }

  [[nodiscard]] Cope cope() const { return {matrix_of(encoding().cope, q_.extents.features)}; }

  [[nodiscard]] bool sees(const Pair& at) const {
    const reference::Mask& mask = of_.attention.mask;
    const auto i = static_cast<std::size_t>(at.batch * n_.queries + at.query);
    const auto j = static_cast<std::size_t>(at.batch * n_.keys + at.key);
    const std::int64_t relative = of_.attention.key_positions[j] - of_.attention.query_positions[i];
    if (mask.order == reference::Order::causal && relative > 0) return false;
    if (relative < -mask.left.value_or(-relative) || relative > mask.right.value_or(relative))
      return false;
    if (!mask.keys.empty() && mask.keys[j] == 0) return false;
    return mask.key_documents.empty() || mask.key_documents[j] == mask.query_documents[i];
  }

  void make_scores() {
    const Numbers bias = make_bias();
    scores_.resize(bias.size());
    for_each_pair(
        [&](const Pair& at) { scores_[at.score] = dot(of_query(q_, at), of_key(k_, at)); });
    if (encoding().shaw_keys)
      require(shaw_scores(view(scores_), view_of(q_), table_of(*encoding().shaw_keys, q_), range_));
    for_each_pair([&](const Pair& at) {
      double& score = scores_[at.score];
      score = sees(at) ? of_.attention.scale * score + bias[at.score] : -infinity;
    });
    before_cope_ = scores_;
    if (!encoding().cope.empty()) require(add_cope(view(scores_), view_of(q_), cope(), range_));
  }

  Numbers make_bias() {
    Numbers bias(static_cast<std::size_t>(n_.batch * n_.heads * n_.queries * n_.keys));
    if (!encoding().bias) return bias;
    ScoresView row = view(bias);
    row.extents.batch = 1;
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      row.data = bias.data() + b * row.strides.batch;
      require(fill_bias(row, *encoding().bias, row_positions(of_, b)));
    }
    return bias;
  }

  void make_weights() {
    weights_.resize(scores_.size());
    const auto keys = static_cast<std::size_t>(n_.keys);
    for (std::size_t row = 0; row < scores_.size(); row += keys) {
      const std::span scores = std::span(scores_).subspan(row, keys);
      const double most = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      if (most > -infinity)
        for (const double score : scores) sum += std::exp(score - most);
      numbers_.log_sum_exp.push_back(most + std::log(sum));
      for (std::size_t j = 0; j < keys && sum > 0; ++j)
        weights_[row + j] = std::exp(scores[j] - most) / sum;
    }
  }

  void make_out() {
    Heads out = zeros_like(d_out_);
    for_each_pair(
        [&](const Pair& at) { add_scaled(of_query(out, at), weights_[at.score], of_key(v_, at)); });
    if (encoding().shaw_values)
      require(
          shaw_values(view_of(out), view(weights_), table_of(*encoding().shaw_values, v_), range_));
    numbers_.out = out.values;
  }

  // The gradient of the weights; those of v and of what is added to it on the way.
  Numbers gradient_of_values() {
    Numbers d_weights(weights_.size());
    Heads d_v = zeros_like(v_);
    for_each_pair([&](const Pair& at) {
      d_weights[at.score] = dot(of_query(d_out_, at), of_key(v_, at));
      add_scaled(of_key(d_v, at), weights_[at.score], of_query(d_out_, at));
    });
    numbers_.d_v = d_v.values;
    if (const auto& vectors = encoding().shaw_values) {
      require(shaw_scores(view(d_weights), view_of(d_out_), table_of(*vectors, v_), range_));
      numbers_.d_shaw_values.resize(vectors->table.size());
      require(add_shaw_gradient({numbers_.d_shaw_values, vectors->window}, view(weights_),
                                view_of(d_out_), range_));
    }
    return d_weights;
  }

  void through_softmax(Numbers& d_weights) {
    const auto keys = static_cast<std::size_t>(n_.keys);
    for (std::size_t row = 0; row < d_weights.size(); row += keys) {
      const std::span d = std::span(d_weights).subspan(row, keys);
      const std::span weights = std::span(weights_).subspan(row, keys);
      const double mean = dot(d, weights);
      for (std::size_t j = 0; j < keys; ++j) d[j] = weights[j] * (d[j] - mean);
    }
  }

  void through_scores(Numbers d_scores) {
    Heads d_q = zeros_like(q_);
    Heads d_k = zeros_like(k_);
    if (!encoding().cope.empty()) d_scores = through_cope(d_scores, d_q);
    if (encoding().bias) numbers_.d_parameters = parameter_gradients(of_, d_scores);
    for (double& d : d_scores) d *= of_.attention.scale;
    for_each_pair([&](const Pair& at) {
      add_scaled(of_query(d_q, at), d_scores[at.score], of_key(k_, at));
      add_scaled(of_key(d_k, at), d_scores[at.score], of_query(q_, at));
    });
    if (const auto& vectors = encoding().shaw_keys) {
      require(shaw_values(view_of(d_q), view(d_scores), table_of(*vectors, q_), range_));
      numbers_.d_shaw_keys.resize(vectors->table.size());
      require(add_shaw_gradient({numbers_.d_shaw_keys, vectors->window}, view(d_scores),
                                view_of(q_), range_));
    }
    numbers_.d_q = turned(of_, d_q, Role::query, Direction::transpose).values;
    numbers_.d_k = turned(of_, d_k, Role::key, Direction::transpose).values;
  }

  Numbers through_cope(Numbers& d_scores, Heads& d_q) {
    Numbers d_read(d_scores.size());
    numbers_.d_cope.resize(encoding().cope.size());
    require(add_cope_gradient({view(d_read), view_of(d_q), numbers_.d_cope},
                              {view(before_cope_), view_of(q_)}, cope(), view(d_scores), range_));
    return d_read;
  }

  const AttentionGolden& of_;
  Heads q_;
  Heads k_;
  Heads v_;
  Heads d_out_;
  ScoresExtents n_;
  BiasRange range_;
  Numbers scores_;
  Numbers before_cope_;
  Numbers weights_;
  AttentionNumbers numbers_;
};

}  // namespace

Numbers parameter_gradients(const AttentionGolden& of, const Numbers& d_bias) {
  const RelativeBias& bias = *of.attention.encoding.bias;
  const ScoresExtents row{.heads = of.inputs.q.extents.heads,
                          .queries = of.inputs.q.extents.tokens,
                          .keys = of.inputs.k.extents.tokens};
  Numbers gradients(static_cast<std::size_t>(parameter_count(bias)));
  for (std::int64_t b = 0; b < of.inputs.q.extents.batch; ++b)
    require(add_bias_gradient(gradients, bias,
                              ConstScoresView{d_bias.data() + b * strides_bhqk(row).batch,
                                              DType::f64, row, strides_bhqk(row)},
                              row_positions(of, b)));
  return gradients;
}

AttentionNumbers by_calls(const AttentionGolden& of) { return Calls(of).run(); }

}  // namespace rotary::test
