// SPDX-License-Identifier: Apache-2.0
// Uses the bound of attend_error_bound (numeric_contract.hpp) with each key's own score in place of
// the largest one. If a bias gives distant keys large scores and almost no weight, the largest
// score would make the bound useless. A weight that is off by a factor moves the result by that
// times |v - out|.
#include "bench/attention/attention_verification.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "reference/attention.hpp"
#include "reference/tensor.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/positions.hpp"

namespace rotary::bench {
namespace {

std::size_t size_of(std::int64_t number) { return static_cast<std::size_t>(number); }

// Heads of the tokens at these positions, rotated if frequencies are given.
reference::Heads read(const ConstHeadsView& view, std::span<const std::int64_t> positions,
                      const Frequencies* frequencies) {
  reference::Heads heads{.extents = view.extents, .values = {}};
  if (frequencies != nullptr) {
    const reference::AngleRows rows(positions_of(positions), frequencies->inv_freq);
    for (const long double value :
         reference::rotate_tensor(view, rows, {.window = frequencies->window}))
      heads.values.push_back(static_cast<double>(value));
    return heads;
  }
  heads.values.reserve(size_of(view.extents.tokens * view.extents.heads * view.extents.features));
  for (std::int64_t token = 0; token < view.extents.tokens; ++token) {
    for (std::int64_t head = 0; head < view.extents.heads; ++head) {
      for (std::int64_t feature = 0; feature < view.extents.features; ++feature) {
        heads.values.push_back(reference::element(view, {.token = token, .head = head}, feature));
      }
    }
  }
  return heads;
}

double norm(const reference::Heads& heads, std::size_t head) {
  const std::size_t features = size_of(heads.extents.features);
  double sum = 0;
  for (std::size_t f = 0; f < features; ++f) {
    const double value = heads.values[head * features + f];
    sum += value * value;
  }
  return std::sqrt(sum);
}

double rounding(DType dtype, double value) {
  switch (dtype) {
    case DType::f32:
      return 0x1p-24 * std::abs(value);
    case DType::bf16:
      return 0x1p-8 * std::abs(value);
    case DType::f16:
      return 0x1p-11 * std::abs(value) + 0x1p-25;
    case DType::f64:
      return 0;
  }
  return 0;
}

// Sizes of Shaw's vectors, 0 without.
struct VectorSizes {
  double key = 0;               // the largest norm
  std::vector<double> feature;  // the largest |a'| of each feature
};

VectorSizes sizes_of(const reference::AttentionEncoding& encoding, std::size_t features) {
  VectorSizes sizes{.feature = std::vector<double>(features, 0.0)};
  if (encoding.shaw_keys) {
    const std::vector<double>& table = encoding.shaw_keys->table;
    for (std::size_t row = 0; row < table.size(); row += features) {
      double sum = 0;
      for (std::size_t f = 0; f < features; ++f) sum += table[row + f] * table[row + f];
      sizes.key = std::max(sizes.key, std::sqrt(sum));
    }
  }
  if (encoding.shaw_values) {
    const std::vector<double>& table = encoding.shaw_values->table;
    for (std::size_t i = 0; i < table.size(); ++i) {
      double& size = sizes.feature[i % features];
      size = std::max(size, std::abs(table[i]));
    }
  }
  return sizes;
}

// Shaw's vectors in the form that the reference takes.
std::optional<reference::ShawVectors> vectors_of(const ShawTable* shaw) {
  if (shaw == nullptr) return std::nullopt;
  reference::ShawVectors vectors{.window = shaw->window, .table = {}};
  const auto* const numbers = static_cast<const float*>(shaw->table.data);
  const std::int64_t count = shaw->table.rows * shaw->table.features;
  vectors.table.assign(numbers, numbers + count);
  return vectors;
}

// The reference's result for the sampled queries.
struct Exact {
  reference::AttentionInputs inputs;
  reference::AttentionResult result;
  std::vector<std::int64_t> positions;  // of the queries
  double scale = 0;
  double rotation = 0;  // rotate_error_bound of a query plus that of a key, if they are rotated
  VectorSizes vectors;
  std::int64_t value_distances = 0;
  bool quantized = false;
};

double rotation_error(const AttentionJob& job) {
  const AttentionEncoding& encoding = job.options().encoding;
  const auto furthest = static_cast<double>(job.line().tokens);
  const double one = rotate_error_bound(Direction::forward, 1, furthest);
  return (encoding.q_rotations != nullptr ? one : 0) + (encoding.k_rotations != nullptr ? one : 0);
}

Exact exact_rows(const AttentionJob& job, std::span<const std::int64_t> sampled) {
  const AttentionLine& line = job.line();
  std::vector<std::int64_t> rows;
  for (const std::int64_t query : sampled) rows.push_back(line.tokens - line.queries() + query);
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < line.tokens; ++key) keys.push_back(key);
  const Frequencies* const frequencies = job.frequencies() ? &*job.frequencies() : nullptr;
  const bool keys_turn = job.options().encoding.k_rotations != nullptr;
  const Tensor q = gather(job.tensors().q.view(), sampled);
  Exact exact{.inputs = {.q = read(q.view(), rows, frequencies),
                         .k = read(job.keys().view(), keys, keys_turn ? frequencies : nullptr),
                         .v = read(job.values().view(), keys, nullptr)},
              .result = {},
              .positions = rows,
              .scale = job.options().scale,
              .rotation = rotation_error(job),
              .vectors = {},
              .quantized = line.quantized()};
  reference::Attention attention{.scale = exact.scale,
                                 .mask = {.order = reference::Order::causal},
                                 .query_positions = std::move(rows)};
  if (job.options().encoding.bias != nullptr)
    attention.encoding.bias = *job.options().encoding.bias;
  attention.encoding.shaw_keys = vectors_of(job.options().encoding.shaw_keys);
  attention.encoding.shaw_values = vectors_of(job.options().encoding.shaw_values);
  exact.vectors = sizes_of(attention.encoding, size_of(line.shape.head_dim));
  if (attention.encoding.shaw_values)
    exact.value_distances = attention.encoding.shaw_values->window.rows();
  exact.result = reference::attention(exact.inputs, attention);
  return exact;
}

// Error bounds, one for each feature of one query and head.
std::vector<double> bounds(const Exact& exact, std::int64_t row, std::int64_t head) {
  const Extents& q = exact.inputs.q.extents;
  const Extents& k = exact.inputs.k.extents;
  const std::int64_t key_head = head / (q.heads / k.heads);
  const std::size_t features = size_of(k.features);
  const std::size_t at = size_of(head * q.tokens + row);
  const double q_size = exact.scale * norm(exact.inputs.q, size_of(row * q.heads + head));
  const double* const out =
      exact.result.out.values.data() + size_of(row * q.heads + head) * features;
  const VectorSizes& vectors = exact.vectors;
  AttendedRow of{.head_dim = k.features,
                 .keys = exact.positions[size_of(row)] + 1,
                 .rotation = exact.rotation,
                 .distance_size = q_size * vectors.key,
                 .value_distances = exact.value_distances,
                 .quantized = exact.quantized};
  const double rescalings = attend_rescalings(of);
  const double sums = attend_sums_error(of);
  std::vector<double> moved(features, 0.0);
  for (std::int64_t key = 0; key < of.keys; ++key) {
    const double weight = exact.result.weights[at * size_of(k.tokens) + size_of(key)];
    if (weight <= 0) continue;
    const std::size_t key_row = size_of(key * k.heads + key_head);
    const double product = q_size * norm(exact.inputs.k, key_row);
    // |bias| is at most |score| + product.
    const double score = std::abs(std::log(weight) + exact.result.log_sum_exp[at]);
    of.score_size = 2 * product + score + of.distance_size;
    const double exponent = attend_score_error(of) + 2.25 * (rescalings + 1) * 0x1p-24;
    const double off = weight * std::expm1(exponent) * std::exp(exponent);
    const double* const v = exact.inputs.v.values.data() + key_row * features;
    for (std::size_t f = 0; f < features; ++f) {
      const double size = std::abs(v[f]) + vectors.feature[f];
      moved[f] += off * (size + std::abs(out[f]));
      moved[f] += sums * weight * size;
    }
  }
  return moved;
}

}  // namespace

std::vector<std::int64_t> sampled_queries(std::int64_t queries) {
  const std::array<std::int64_t, 8> wanted = {0,   1,           7,           63,
                                              256, queries / 2, queries - 2, queries - 1};
  std::vector<std::int64_t> sampled;
  for (const std::int64_t query : wanted) {
    if (query >= 0 && query < queries) sampled.push_back(query);
  }
  std::sort(sampled.begin(), sampled.end());
  sampled.erase(std::unique(sampled.begin(), sampled.end()), sampled.end());
  return sampled;
}

AttentionVerification verify_result(const AttentionJob& job) {
  const std::vector<std::int64_t> sampled = sampled_queries(job.line().queries());
  const Exact exact = exact_rows(job, sampled);
  const HeadsView out = job.tensors().out.view();
  AttentionVerification found;
  for (std::size_t row = 0; row < sampled.size(); ++row) {
    for (std::int64_t head = 0; head < out.extents.heads; ++head) {
      const std::vector<double> bound = bounds(exact, static_cast<std::int64_t>(row), head);
      const std::size_t first = (row * size_of(out.extents.heads) + size_of(head)) * bound.size();
      for (std::size_t f = 0; f < bound.size(); ++f) {
        const double right = exact.result.out.values[first + f];
        const auto feature = static_cast<std::int64_t>(f);
        const double got = reference::element(out, {.token = sampled[row], .head = head}, feature);
        // The one value that a query sees may be 0, and so is then its bound.
        const double off = std::abs(got - right);
        const double error = off == 0 ? 0 : off / (bound[f] + rounding(out.dtype, right));
        ++found.elements;
        found.wrong += error <= 1 ? 0 : 1;  // a NaN counts as wrong
        if (error <= found.worst) continue;
        found.worst = error;
        found.worst_query = sampled[row];
        found.worst_head = head;
        found.worst_feature = feature;
      }
    }
  }
  return found;
}

Result<AttentionVerification> verify(const AttentionJob& job) {
  if (auto status = job.run(1); !status) return std::move(status).error();
  return verify_result(job);
}

}  // namespace rotary::bench
