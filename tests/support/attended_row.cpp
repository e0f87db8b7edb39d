// SPDX-License-Identifier: Apache-2.0
#include "support/attended_row.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/relative.hpp"
#include "rotary/shaw.hpp"
#include "support/attend.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::int64_t largest(const std::vector<std::int64_t>& positions) {
  std::int64_t most = 0;
  for (const std::int64_t position : positions) most = std::max(most, std::abs(position));
  return most;
}

double norm(const double* head, std::int64_t features) {
  double squares = 0;
  for (std::int64_t f = 0; f < features; ++f) squares += head[f] * head[f];
  return std::sqrt(squares);
}

double bias_size(const RelativeBias& bias, const BiasIndex& pair) {
  const auto* alibi = std::get_if<Alibi>(&bias);
  if (alibi == nullptr || alibi->form != AlibiForm::key_position)
    return static_cast<double>(reference::relative_bias(bias, pair).magnitude);
  const BiasIndex other{.head = pair.head, .query = pair.key, .key = pair.query};
  return static_cast<double>(reference::relative_bias(bias, pair).magnitude +
                             reference::relative_bias(bias, other).magnitude);
}

const double* vector_of(const reference::ShawVectors& vectors, const BiasIndex& pair) {
  const std::int64_t row = value_of(shaw_row(pair.key - pair.query, vectors.window));
  const auto features = static_cast<std::int64_t>(vectors.table.size()) / vectors.window.rows();
  return vectors.table.data() + row * features;
}

}  // namespace

RowSizes sizes_of(const reference::AttentionCase& of, const reference::QueryIndex& index) {
  const Extents& v = of.v.extents;
  const std::int64_t features = of.q.extents.features;
  RowSizes sizes{.row = {.head_dim = features}, .values = std::vector<double>(at(v.features), 0.0)};
  const reference::AttentionEncoding& encoding = of.attention.encoding;
  const double q = norm(of.turned_q.values.data() + reference::query_offset(of, index), features);
  const double plain_q = norm(of.q.values.data() + reference::query_offset(of, index), features);
  std::vector<double> added(sizes.values.size(), 0.0);
  for (std::int64_t key = 0; key < v.tokens; ++key) {
    if (!reference::sees(of, index, key)) continue;
    ++sizes.row.keys;
    const double k = norm(
        of.turned_k.values.data() + reference::key_offset(of, of.turned_k, index, key), features);
    const BiasIndex pair = reference::positions_of_pair(of, index, key);
    double score = std::abs(of.attention.scale) * q * k;
    if (encoding.bias) score += bias_size(*encoding.bias, pair);
    if (encoding.shaw_keys) {
      const double size = std::abs(of.attention.scale) * plain_q *
                          norm(vector_of(*encoding.shaw_keys, pair), features);
      sizes.row.distance_size = std::max(sizes.row.distance_size, size);
      score += size;
    }
    sizes.row.score_size = std::max(sizes.row.score_size, score);
    const double* value = of.v.values.data() + reference::key_offset(of, of.v, index, key);
    for (std::size_t f = 0; f < sizes.values.size(); ++f)
      sizes.values[f] = std::max(sizes.values[f], std::abs(value[f]));
    if (!encoding.shaw_values) continue;
    const double* vector = vector_of(*encoding.shaw_values, pair);
    for (std::size_t f = 0; f < added.size(); ++f)
      added[f] = std::max(added[f], std::abs(vector[f]));
  }
  for (std::size_t f = 0; f < added.size(); ++f) sizes.values[f] += added[f];
  if (encoding.shaw_values)
    sizes.row.value_distances = std::min(sizes.row.keys, encoding.shaw_values->window.rows());
  if (const auto& rotary = encoding.rotary) {
    const double factor = rotary->attention_factor;
    sizes.row.rotation =
        rotate_error_bound(Direction::forward, factor, largest(of.query_positions)) +
        rotate_error_bound(Direction::forward, factor, largest(of.key_positions));
  }
  return sizes;
}

namespace {

double norm_of(const Tensor& tensor) {
  double largest = 0;
  for_each_element(tensor.extents(), [&](const HeadIndex& at, std::int64_t feature) {
    if (feature > 0) return;
    double squares = 0;
    for (std::int64_t f = 0; f < tensor.extents().features; ++f)
      squares += tensor.at(at, f) * tensor.at(at, f);
    largest = std::max(largest, std::sqrt(squares));
  });
  return largest;
}

double largest(const reference::ShawVectors& vectors) {
  double number = 0;
  for (const double each : vectors.table) number = std::max(number, std::abs(each));
  return number;
}

}  // namespace

double bound_of(const Attended& call, int turns) {
  double value = 0;
  for_each_element(call.v.extents(), [&](const HeadIndex& at, std::int64_t feature) {
    value = std::max(value, std::abs(call.v.at(at, feature)));
  });
  const std::int64_t keys = call.k.extents().tokens;
  const double of_query = std::abs(call.made_of().scale) * norm_of(call.q);
  AttendedRow row{.head_dim = call.q.extents().features,
                  .keys = keys,
                  .score_size = of_query * norm_of(call.k),
                  .rotation = turns * rotate_error_bound(Direction::forward, 1, 2 * keys)};
  if (const auto& vectors = call.made_of().encoding.shaw_keys) {
    row.distance_size = of_query * std::sqrt(static_cast<double>(row.head_dim)) * largest(*vectors);
    row.score_size += row.distance_size;
  }
  if (const auto& vectors = call.made_of().encoding.shaw_values) {
    row.value_distances = std::min(keys, vectors->window.rows());
    value += largest(*vectors);
  }
  return attend_error_bound(row) * 0x1p-24 * value;
}

}  // namespace rotary::test
