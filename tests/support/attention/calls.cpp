// SPDX-License-Identifier: Apache-2.0
#include "support/attention/calls.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shaw.hpp"
#include "support/attention/samples.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

using reference::Heads;
using Numbers = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

Heads zeros_like(const Heads& heads) {
  return {.extents = heads.extents, .values = Numbers(heads.values.size())};
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t f = 0; f < a.size(); ++f) sum += a[f] * b[f];
  return sum;
}

void add_scaled(std::span<double> sum, double factor, std::span<const double> x) {
  for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += factor * x[f];
}

// Test scores are below 2^12, where exp fits in long double.
long double exp_of(double score) { return std::exp(static_cast<long double>(score)); }

ScoresExtents extents_of(const reference::AttentionInputs& inputs) {
  return {.batch = inputs.q.extents.batch,
          .heads = inputs.q.extents.heads,
          .queries = inputs.q.extents.tokens,
          .keys = inputs.k.extents.tokens};
}

// A query of one head, a key, and the index of their score.
struct Pair {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 0;
  std::size_t score = 0;
};

std::span<double> features_of(Heads& heads, std::int64_t batch, std::int64_t token,
                              std::int64_t head) {
  const Extents& n = heads.extents;
  const std::int64_t first = ((batch * n.tokens + token) * n.heads + head) * n.features;
  return std::span(heads.values)
      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n.features));
}

std::span<double> of_query(Heads& heads, const Pair& at) {
  return features_of(heads, at.batch, at.query, at.head);
}

// A table with as many features as these heads.
ShawTable table_of(const reference::ShawVectors& vectors, const Heads& heads) {
  return {vectors.window, matrix_of(vectors.table, heads.extents.features)};
}

class Calls {
 public:
  Calls(const AttentionCall& call, Heads d_out)
      : call_(call),
        encoding_(call.attention.encoding),
        n_(extents_of(call.inputs)),
        range_{.first_query = call.attention.key_positions.front() + n_.keys - n_.queries,
               .first_key = call.attention.key_positions.front()},
        q_(call.inputs.q),
        v_(call.inputs.v),
        d_out_(std::move(d_out)),
        turned_q_(turned(q_, Role::query, Direction::forward)),
        turned_k_(turned(call.inputs.k, Role::key, Direction::forward)) {}

  AttentionNumbers run() {
    make_scores();
    make_weights();
    make_out();
    Numbers d_scores = gradient_of_weights();
    through_softmax(d_scores);
    through_scores(std::move(d_scores));
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
    return features_of(heads, at.batch, at.key, at.head / group);
  }

  [[nodiscard]] Heads turned(Heads heads, Role role, Direction direction) const {
    if (!call_.frequencies) return heads;
    RotationsOptions options{.rows = RowDType::f64};
    if (call_.frequencies->xpos) options.role = role;
    const auto& positions =
        role == Role::query ? call_.attention.query_positions : call_.attention.key_positions;
    const auto rotations = value_of(
        make_rotations(*call_.frequencies, positions_of(positions, heads.extents.batch), options));
    require(rotate(view_of(heads), view_of(heads), rotations, {.direction = direction}));
    return heads;
  }

  [[nodiscard]] ScoresView view(Numbers& scores) const { return scores_of(scores, n_); }
  [[nodiscard]] Cope cope() const { return {matrix_of(encoding_.cope, q_.extents.features)}; }

  void make_scores() {
    const Numbers bias = make_bias();
    scores_.resize(bias.size());
    for_each_pair([&](const Pair& at) {
      scores_[at.score] = dot(of_query(turned_q_, at), of_key(turned_k_, at));
    });
    if (const auto& vectors = encoding_.shaw_keys)
      require(add_shaw_scores(view(scores_), view_of(q_), table_of(*vectors, q_), range_));
    for_each_pair([&](const Pair& at) {
      const std::int64_t mask = (at.batch * n_.queries + at.query) * n_.keys + at.key;
      double& score = scores_[at.score];
      score = call_.attention.scale * score + bias[at.score];
      if (!call_.seen[static_cast<std::size_t>(mask)]) score = -infinity;
    });
    before_cope_ = scores_;
    if (!encoding_.cope.empty()) require(add_cope(view(scores_), view_of(q_), cope(), range_));
  }

  Numbers make_bias() {
    Numbers bias(static_cast<std::size_t>(n_.batch * n_.heads * n_.queries * n_.keys));
    if (!encoding_.bias) return bias;
    ScoresView row = view(bias);
    row.extents.batch = 1;
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      row.data = bias.data() + b * row.strides.batch;
      require(fill_bias(row, *encoding_.bias, row_positions(b)));
    }
    return bias;
  }

  [[nodiscard]] BiasPositions row_positions(std::int64_t batch) const {
    const auto row = [batch](const std::vector<std::int64_t>& all, std::int64_t tokens) {
      return std::span(all).subspan(static_cast<std::size_t>(batch * tokens),
                                    static_cast<std::size_t>(tokens));
    };
    return {.queries = row(call_.attention.query_positions, n_.queries),
            .keys = row(call_.attention.key_positions, n_.keys)};
  }

  // NaN scores give NaN weights.
  void make_weights() {
    const auto keys = static_cast<std::size_t>(n_.keys);
    for (std::size_t row = 0; row < scores_.size(); row += keys) {
      const auto scores = std::span(scores_).subspan(row, keys);
      long double sum = 0;
      for (const double score : scores) sum += exp_of(score);
      numbers_.log_sum_exp.push_back(static_cast<double>(std::log(sum)));
      for (const double score : scores) {
        const long double weight = sum == 0 ? 0 : exp_of(score) / sum;
        weights_.push_back(static_cast<double>(weight));
      }
    }
  }

  void make_out() {
    Heads out = zeros_like(d_out_);
    for_each_pair(
        [&](const Pair& at) { add_scaled(of_query(out, at), weights_[at.score], of_key(v_, at)); });
    if (const auto& vectors = encoding_.shaw_values)
      require(add_shaw_values(view_of(out), view(weights_), table_of(*vectors, v_), range_));
    numbers_.out = std::move(out.values);
  }

  // Returns the gradient of the weights. Stores the gradients of v and of Shaw's value vectors.
  Numbers gradient_of_weights() {
    Numbers d_weights(weights_.size());
    Heads d_v = zeros_like(v_);
    for_each_pair([&](const Pair& at) {
      d_weights[at.score] = dot(of_query(d_out_, at), of_key(v_, at));
      add_scaled(of_key(d_v, at), weights_[at.score], of_query(d_out_, at));
    });
    numbers_.d_v = std::move(d_v.values);
    if (const auto& vectors = encoding_.shaw_values) {
      require(add_shaw_scores(view(d_weights), view_of(d_out_), table_of(*vectors, v_), range_));
      numbers_.d_shaw_values.resize(vectors->table.size());
      require(add_shaw_gradient({numbers_.d_shaw_values, vectors->window}, view(weights_),
                                view_of(d_out_), range_));
    }
    return d_weights;
  }

  void through_softmax(Numbers& d_weights) {
    const auto keys = static_cast<std::size_t>(n_.keys);
    for (std::size_t row = 0; row < d_weights.size(); row += keys) {
      const auto d = std::span(d_weights).subspan(row, keys);
      const auto weights = std::span(weights_).subspan(row, keys);
      const double mean = dot(d, weights);
      for (std::size_t j = 0; j < keys; ++j) d[j] = weights[j] * (d[j] - mean);
    }
  }

  void through_scores(Numbers d_scores) {
    Heads d_q = zeros_like(q_);
    Heads d_turned_q = zeros_like(q_);
    Heads d_turned_k = zeros_like(turned_k_);
    if (!encoding_.cope.empty()) d_scores = through_cope(d_scores, d_q);
    if (encoding_.bias) through_bias(d_scores);
    for (double& d : d_scores) d *= call_.attention.scale;
    for_each_pair([&](const Pair& at) {
      add_scaled(of_query(d_turned_q, at), d_scores[at.score], of_key(turned_k_, at));
      add_scaled(of_key(d_turned_k, at), d_scores[at.score], of_query(turned_q_, at));
    });
    if (const auto& vectors = encoding_.shaw_keys) {
      require(add_shaw_values(view_of(d_q), view(d_scores), table_of(*vectors, q_), range_));
      numbers_.d_shaw_keys.resize(vectors->table.size());
      require(add_shaw_gradient({numbers_.d_shaw_keys, vectors->window}, view(d_scores),
                                view_of(q_), range_));
    }
    add_scaled(d_q.values, 1, turned(d_turned_q, Role::query, Direction::transpose).values);
    numbers_.d_q = std::move(d_q.values);
    numbers_.d_k = turned(d_turned_k, Role::key, Direction::transpose).values;
  }

  void through_bias(const Numbers& d_scores) {
    numbers_.d_parameters.resize(static_cast<std::size_t>(parameter_count(*encoding_.bias)));
    ScoresExtents n = n_;
    n.batch = 1;
    for (std::int64_t b = 0; b < n_.batch; ++b) {
      const ConstScoresView row{d_scores.data() + b * strides_bhqk(n).batch, DType::f64, n,
                                strides_bhqk(n)};
      require(add_bias_gradient(numbers_.d_parameters, *encoding_.bias, row, row_positions(b)));
    }
  }

  Numbers through_cope(Numbers& d_scores, Heads& d_q) {
    Numbers d_read(d_scores.size());
    numbers_.d_cope.resize(encoding_.cope.size());
    require(add_cope_gradient({view(d_read), view_of(d_q), numbers_.d_cope},
                              {view(before_cope_), view_of(q_)}, cope(), view(d_scores), range_));
    return d_read;
  }

  const AttentionCall& call_;
  const reference::AttentionEncoding& encoding_;
  ScoresExtents n_;
  BiasRange range_;
  Heads q_;
  Heads v_;
  Heads d_out_;
  Heads turned_q_;
  Heads turned_k_;
  Numbers scores_;
  Numbers weights_;
  Numbers before_cope_;
  AttentionNumbers numbers_;
};

}  // namespace

AttentionNumbers by_calls(const AttentionCall& call, const Heads& d_out) {
  return Calls(call, d_out).run();
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::nan("");
  double most = 0;
  for (std::size_t i = 0; i < a.size() && !std::isnan(most); ++i) {
    const double difference = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

}  // namespace rotary::test
