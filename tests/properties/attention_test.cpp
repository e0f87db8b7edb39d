// SPDX-License-Identifier: Apache-2.0
// Attention put together of the library's calls, every operation on float64 tensors, with a plain
// softmax between them: each encoding under each mask is the reference's.
#include "reference/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "rotary/relative.hpp"
#include "rotary/rotate.hpp"
#include "support/attention.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using reference::Attention;
using reference::AttentionInputs;
using reference::AttentionResult;
using reference::Heads;
using test::AttentionShape;
using test::EncodingSample;
using test::MaskSample;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

Rotations rotations_of(const reference::Rotary& rotary, const std::vector<std::int64_t>& positions,
                       std::int64_t batch, Role role) {
  Frequencies frequencies =
      test::value_of(make_frequencies(rotary.window, rotary.inv_freq, rotary.attention_factor));
  frequencies.xpos = rotary.xpos;
  RotationsOptions options{.rows = RowDType::f64};
  if (rotary.xpos) options.role = role;
  return test::value_of(make_rotations(frequencies, positions_of(positions, batch), options));
}

// The scores here are below 2^12, of which long double holds the exponential.
long double exp_of(double score) { return std::exp(static_cast<long double>(score)); }

class Composition {
 public:
  Composition(const AttentionInputs& inputs, const Attention& attention)
      : inputs_(inputs),
        attention_(attention),
        positions_(test::position_lists(inputs, attention)),
        q_(inputs.q),
        extents_{.batch = inputs.q.extents.batch,
                 .heads = inputs.q.extents.heads,
                 .queries = inputs.q.extents.tokens,
                 .keys = inputs.k.extents.tokens},
        scores_(size(extents_.batch * extents_.heads * extents_.queries * extents_.keys)) {
    const std::size_t token = size(q_.extents.heads * q_.extents.features);
    for (std::size_t i = 0; i < q_.values.size(); ++i)
      q_.values[i] *= attention.query_factors[i / token];
  }

  AttentionResult run() {
    const ScoresView scores = test::scores_of(scores_, extents_);
    const reference::AttentionEncoding& encoding = attention_.encoding;
    if (const auto& shaw = encoding.shaw_keys)
      test::require(shaw_scores(scores, test::view_of(q_), table_of(*shaw, q_), range()));
    add_products();
    if (encoding.bias) add_bias(*encoding.bias);
    mask();
    if (!encoding.cope.empty()) {
      const Cope cope{test::matrix_of(encoding.cope, q_.extents.features)};
      test::require(add_cope(scores, test::view_of(q_), cope, range()));
    }
    return softmax_and_values();
  }

 private:
  // The queries are the last tokens of the keys. Where documents have positions of their own, those
  // of a pair of one document are as far apart as its tokens are.
  [[nodiscard]] BiasRange range() const {
    return {.first_query = extents_.keys - extents_.queries};
  }

  static ShawTable table_of(const reference::ShawVectors& shaw, const Heads& heads) {
    return {shaw.window, test::matrix_of(shaw.table, heads.extents.features)};
  }

  // visit(score, b, h, i, j)
  template <class Visit>
  void for_each_score(Visit visit) {
    auto score = scores_.begin();
    for (std::int64_t b = 0; b < extents_.batch; ++b) {
      for (std::int64_t h = 0; h < extents_.heads; ++h) {
        for (std::int64_t i = 0; i < extents_.queries; ++i) {
          for (std::int64_t j = 0; j < extents_.keys; ++j) visit(*score++, b, h, i, j);
        }
      }
    }
  }

  [[nodiscard]] static const double* head_at(const Heads& heads, std::int64_t b, std::int64_t t,
                                             std::int64_t h) {
    const Extents& n = heads.extents;
    return heads.values.data() + ((b * n.tokens + t) * n.heads + h) * n.features;
  }
  [[nodiscard]] std::int64_t key_head(std::int64_t head) const {
    return head * inputs_.k.extents.heads / extents_.heads;
  }

  void add_products() {
    Heads q = q_;
    Heads k = inputs_.k;
    if (const auto& rotary = attention_.encoding.rotary) {
      const std::int64_t batch = extents_.batch;
      test::require(rotate(test::view_of(q), test::view_of(q),
                           rotations_of(*rotary, positions_.queries, batch, Role::query)));
      test::require(rotate(test::view_of(k), test::view_of(k),
                           rotations_of(*rotary, positions_.keys, batch, Role::key)));
    }
    for_each_score(
        [&](double& score, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
          const double* query = head_at(q, b, i, h);
          const double* key = head_at(k, b, j, key_head(h));
          for (std::int64_t f = 0; f < q.extents.features; ++f) score += query[f] * key[f];
          score *= attention_.scale;
        });
  }

  void add_bias(const RelativeBias& bias) {
    ScoresExtents one_row = extents_;
    one_row.batch = 1;
    const std::size_t queries = size(extents_.queries);
    const std::size_t keys = size(extents_.keys);
    std::vector<double> all;
    for (std::size_t b = 0; b < size(extents_.batch); ++b) {
      std::vector<double> row(scores_.size() / size(extents_.batch));
      const BiasPositions at{std::span(positions_.queries).subspan(b * queries, queries),
                             std::span(positions_.keys).subspan(b * keys, keys)};
      test::require(fill_bias(test::scores_of(row, one_row), bias, at));
      all.insert(all.end(), row.begin(), row.end());
    }
    for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] += all[i];
  }

  // By where tokens are in their row, not by positions.
  void mask() {
    const reference::Mask& mask = attention_.mask;
    for_each_score(
        [&](double& score, std::int64_t b, std::int64_t /*h*/, std::int64_t i, std::int64_t j) {
          const std::int64_t distance = i + extents_.keys - extents_.queries - j;
          const std::size_t key = size(b * extents_.keys + j);
          bool sink = j < mask.sinks;
          if (!mask.key_documents.empty()) {
            const std::int64_t document = mask.key_documents[key];
            if (mask.query_documents[size(b * extents_.queries + i)] != document) score = -infinity;
            sink = j < mask.sinks || mask.key_documents[key - size(mask.sinks)] != document;
          }
          if (!mask.keys.empty() && mask.keys[key] == 0) score = -infinity;
          if (mask.order == reference::Order::causal && distance < 0) score = -infinity;
          if (!sink && mask.left && distance > *mask.left) score = -infinity;
          if (!sink && mask.right && -distance > *mask.right) score = -infinity;
        });
  }

  AttentionResult softmax_and_values() {
    AttentionResult result;
    const std::size_t keys = size(extents_.keys);
    for (std::size_t row = 0; row < scores_.size(); row += keys) {
      long double sum = 0;
      for (std::size_t j = row; j < row + keys; ++j) sum += exp_of(scores_[j]);
      result.log_sum_exp.push_back(static_cast<double>(std::log(sum)));
      for (std::size_t j = row; j < row + keys; ++j) {
        const long double weight = sum > 0 ? exp_of(scores_[j]) / sum : 0;
        result.weights.push_back(static_cast<double>(weight));
      }
    }
    result.out.extents = test::out_extents(inputs_);
    const std::int64_t features = result.out.extents.features;
    result.out.values.resize(q_.values.size() / size(q_.extents.features) * size(features));
    auto weight = result.weights.begin();
    for_each_score(
        [&](double& /*score*/, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
          const double* value = head_at(inputs_.v, b, j, key_head(h));
          const auto first = size(((b * extents_.queries + i) * extents_.heads + h) * features);
          for (std::size_t f = 0; f < size(features); ++f)
            result.out.values[first + f] += *weight * value[f];
          ++weight;
        });
    if (const auto& shaw = attention_.encoding.shaw_values)
      test::require(shaw_values(test::view_of(result.out),
                                test::scores_of(result.weights, extents_),
                                table_of(*shaw, inputs_.v), range()));
    return result;
  }

  const AttentionInputs& inputs_;
  const Attention& attention_;
  test::PositionLists positions_;
  Heads q_;
  ScoresExtents extents_;
  std::vector<double> scores_;
};

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) most = std::max(most, std::abs(a[i] - b[i]));  // two of -Inf are the same
  }
  return most;
}

// A pair of q and of k, at most sqrt(2) long and 1.2 times that turned, is off by the error of its
// rows, 2π |p| 2^-65 + 2^-50 at a position p (xPos: of a factor below 1.3 times as much), so a
// product of 2 pairs by 12 times that; sums of at most 9 terms and biases of at most 2^3, which are
// right to 2^-46, add 2^-43. CoPE's gates and the 4 rows that they cross magnify by less than 2^4,
// softmax and the sums of weights below 1 by 2.
double bound(std::int64_t shift) {
  const double position = std::abs(static_cast<double>(shift)) + 5;
  return 0x1p5 * (12 * (6.3 * position * 0x1p-65 + 0x1p-49) + 0x1p-43);
}

TEST(AttentionOfCalls, IsTheReference) {
  for (const AttentionShape& shape : test::attention_shapes) {
    const AttentionInputs inputs = test::random_inputs(shape, 30);
    for (const MaskSample& mask : test::attention_masks()) {
      for (const EncodingSample& encoding : test::attention_encodings(shape)) {
        SCOPED_TRACE(mask.name + ", " + encoding.name);
        const Attention given = test::with_encoding(mask, encoding);
        const AttentionResult expected = reference::attention(inputs, given);
        const AttentionResult got = Composition(inputs, given).run();
        ASSERT_LE(largest_difference(got.weights, expected.weights), bound(0));
        ASSERT_LE(largest_difference(got.log_sum_exp, expected.log_sum_exp), bound(0));
        ASSERT_LE(largest_difference(got.out.values, expected.out.values), bound(0));
      }
    }
  }
}

TEST(AttentionOfCalls, IsTheReferenceFarAway) {
  const AttentionShape shape;
  const AttentionInputs inputs = test::random_inputs(shape, 31);
  for (const std::int64_t shift : {std::int64_t{8191}, -(std::int64_t{1} << 31) - 7}) {
    for (const EncodingSample& encoding : test::attention_encodings(shape)) {
      SCOPED_TRACE(encoding.name);
      Attention given = test::with_encoding(test::attention_masks()[1], encoding);
      if (given.encoding.rotary && given.encoding.rotary->xpos)
        given.encoding.rotary->xpos->center += static_cast<double>(shift);
      if (encoding.name == "alibi key_position") continue;  // a score of m (shift + j)
      test::PositionLists at = test::position_lists(inputs, given);
      for (std::int64_t& position : at.queries) position += shift;
      for (std::int64_t& position : at.keys) position += shift;
      given.query_positions = at.queries;
      given.key_positions = at.keys;
      const AttentionResult expected = reference::attention(inputs, given);
      const AttentionResult got = Composition(inputs, given).run();
      ASSERT_LE(largest_difference(got.weights, expected.weights), bound(shift));
      ASSERT_LE(largest_difference(got.out.values, expected.out.values), bound(shift));
    }
  }
}

}  // namespace
}  // namespace rotary
