// SPDX-License-Identifier: Apache-2.0
#include "support/attention/samples.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "support/bias_parameters.hpp"
#include "support/random.hpp"

namespace rotary::test {
namespace {

using reference::AttentionEncoding;
using reference::Rotary;
using reference::ShawVectors;

std::vector<double> numbers(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = random.unit() * 2 - 1;
  return values;
}

// Random numbers in [0.1, 1.1).
std::vector<double> positive(std::int64_t count, std::uint64_t seed) {
  std::vector<double> values = numbers(count, seed);
  for (double& value : values) value = 0.6 + value / 2;
  return values;
}

Rotary rotary(const AttentionShape& shape, Pairing pairing) {
  return {.window = {.head_dim = shape.features, .rotary_dim = 4, .pairing = pairing},
          .inv_freq = {0.9, 0.07},
          .attention_factor = 1.2};
}

std::vector<double>& t5_table(std::int64_t heads) {
  static std::map<std::int64_t, std::vector<double>> tables;
  std::vector<double>& table = tables[heads];
  if (table.empty()) table = numbers(8 * heads, 27);
  return table;
}

T5Bias t5(const AttentionShape& shape, T5Direction direction) {
  return {.buckets = {.buckets = 8, .max_distance = 20, .direction = direction},
          .table = matrix_of(t5_table(shape.heads), shape.heads)};
}

Fire fire(const AttentionShape& shape) {
  constexpr std::int64_t width = 3;
  return {.c = 0.3,
          .hidden_weight = numbers(width, 13),
          .hidden_bias = positive(width, 14),
          .output_weight = numbers(width * shape.heads, 15),
          .output_bias = numbers(shape.heads, 16)};
}

ShawVectors shaw(const ShawWindow& window, std::int64_t features, std::uint64_t seed) {
  return {window, numbers(window.rows() * features, seed)};
}

std::vector<EncodingSample> rotary_encodings(const AttentionShape& shape) {
  AttentionEncoding xpos{.rotary = rotary(shape, Pairing::half)};
  xpos.rotary->xpos = Xpos{.scale_base = 64, .center = 2};
  return {{"none", {}},
          {"rotary half", {.rotary = rotary(shape, Pairing::half)}},
          {"rotary interleaved", {.rotary = rotary(shape, Pairing::interleaved)}},
          {"rotary interleaved_to_half", {.rotary = rotary(shape, Pairing::interleaved_to_half)}},
          {"xpos", xpos}};
}

std::vector<EncodingSample> bias_encodings(const AttentionShape& shape) {
  const std::int64_t heads = shape.heads;
  std::vector<EncodingSample> all = {
      {"t5 bidirectional", {.bias = t5(shape, T5Direction::bidirectional)}},
      {"t5 causal", {.bias = t5(shape, T5Direction::causal)}},
      {"alibi", {.bias = Alibi{.heads = heads}}},
      {"alibi symmetric", {.bias = Alibi{.heads = heads, .form = AlibiForm::symmetric}}},
      {"alibi key_position", {.bias = Alibi{.heads = heads, .form = AlibiForm::key_position}}},
  };
  std::uint64_t seed = 17;
  for (const std::string_view name : relative_bias_names()) {
    if (auto bias = random_bias(name, heads, seed)) {
      all.push_back({std::string(name), {.bias = *bias}});
      seed += 2;
    }
  }
  all.push_back({"fire", {.bias = fire(shape)}});
  all.push_back({"sandwich", {.bias = Sandwich{.dim = 6, .heads = heads}}});
  return all;
}

std::vector<EncodingSample> vector_encodings(const AttentionShape& shape) {
  const std::int64_t f = shape.features;
  const ShawVectors keys = shaw({2, 1}, f, 21);
  const ShawVectors values = shaw({1, 1}, shape.value_features, 22);
  return {{"shaw keys", {.shaw_keys = keys}},
          {"shaw keys and values", {.shaw_keys = keys, .shaw_values = values}},
          {"shaw without window", {.shaw_keys = shaw({0, 0}, f, 23)}},
          {"cope", {.cope = numbers(8 * f, 24)}},
          {"cope of few rows", {.cope = numbers(2 * f, 25)}},
          {"several",
           {.rotary = rotary(shape, Pairing::half),
            .bias = KerpleLog{.p = positive(shape.heads, 17), .a = positive(shape.heads, 18)},
            .shaw_keys = keys,
            .shaw_values = values,
            .cope = numbers(4 * f, 26)}}};
}

void append(std::vector<EncodingSample>& to, std::vector<EncodingSample> samples) {
  for (EncodingSample& sample : samples) to.push_back(std::move(sample));
}

}  // namespace

reference::Heads random_heads(const Extents& extents, std::uint64_t seed) {
  return {extents,
          numbers(extents.batch * extents.tokens * extents.heads * extents.features, seed)};
}

reference::AttentionInputs random_inputs(const AttentionShape& shape, std::uint64_t seed) {
  const Extents q{shape.batch, shape.queries, shape.heads, shape.features};
  Extents k = q;
  k.tokens = shape.keys;
  k.heads = shape.key_heads;
  Extents v = k;
  v.features = shape.value_features;
  return {random_heads(q, seed), random_heads(k, seed + 1), random_heads(v, seed + 2)};
}

HeadsView view_of(reference::Heads& heads) noexcept {
  return {heads.values.data(), DType::f64, heads.extents, strides_bthd(heads.extents)};
}

ScoresView scores_of(std::vector<double>& values, const ScoresExtents& extents) noexcept {
  return {values.data(), DType::f64, extents, strides_bhqk(extents)};
}

ConstTableView matrix_of(const std::vector<double>& values, std::int64_t columns) noexcept {
  return {.data = values.data(),
          .dtype = DType::f64,
          .rows = static_cast<std::int64_t>(values.size()) / columns,
          .features = columns,
          .row_stride = columns};
}

std::vector<EncodingSample> attention_encodings(const AttentionShape& shape) {
  std::vector<EncodingSample> all = rotary_encodings(shape);
  append(all, bias_encodings(shape));
  append(all, vector_encodings(shape));
  return all;
}

}  // namespace rotary::test
