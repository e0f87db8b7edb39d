// SPDX-License-Identifier: Apache-2.0
#include "support/attend.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "reference/attention_case.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/attended_row.hpp"
#include "support/cases.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

using reference::Order;

constexpr float guard = 12345.0F;

Extents heads_of(const AttentionShape& s, std::int64_t tokens, std::int64_t heads,
                 std::int64_t features) {
  return {.batch = s.batch, .tokens = tokens, .heads = heads, .features = features};
}

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

reference::Heads values_of(const Tensor& tensor) {
  reference::Heads heads{tensor.extents(), {}};
  for_each_element(tensor.extents(), [&](const HeadIndex& index, std::int64_t feature) {
    heads.values.push_back(tensor.at(index, feature));
  });
  return heads;
}

// 0 for tokens in no sequence.
struct Places {
  std::vector<std::int64_t> queries;  // positions, [batch][queries]
  std::vector<std::int64_t> keys;     // [batch][keys]
  std::vector<std::int64_t> query_documents;
  std::vector<std::int64_t> key_documents;
};

Places places_of(const Attended& of) {
  const AttentionShape& shape = of.made_of().shape;
  Places places;
  places.queries.assign(at(shape.batch * shape.queries), 0);
  places.keys.assign(at(shape.batch * shape.keys), 0);
  places.query_documents.assign(places.queries.size(), -1);
  places.key_documents.assign(places.keys.size(), -2);
  std::int64_t document = 0;
  for (const AttentionSequence& s : of.sequences()) {
    for (std::int64_t r = 0; r < s.queries; ++r) {
      const std::size_t token = at(s.batch * shape.queries + s.first_query + r);
      places.queries[token] = s.query_position + r;
      places.query_documents[token] = document;
    }
    for (std::int64_t c = 0; c < s.keys; ++c) {
      const std::size_t token = at(s.batch * shape.keys + s.first_key + c);
      places.keys[token] = s.key_position + c;
      places.key_documents[token] = document;
    }
    ++document;
  }
  return places;
}

// Vectors of Shaw's, in [-1, 1).
reference::ShawVectors random_vectors(const ShawWindow& window, std::int64_t features,
                                      std::uint64_t seed) {
  const Extents extents{.tokens = window.rows(), .heads = 1, .features = features};
  return {window, random_heads(extents, seed).values};
}

// True if the computed number is within the bound, or both are the same infinity.
bool is_within(double computed, double exact, double bound) {
  if (computed == exact) return true;
  return std::abs(computed - exact) <= bound;
}

// Checks the weights of one row.
testing::AssertionResult are_weights(std::span<const float> computed, std::span<const double> exact,
                                     const AttendedRow& row) {
  const double bound = attend_weight_error_bound(row);
  double sum = 0;
  for (std::size_t key = 0; key < exact.size(); ++key) {
    const double weight = computed[key];
    sum += weight;
    if (exact[key] == 0 ? weight == 0
                        : is_within(weight, exact[key], bound * exact[key] + 0x1p-125))
      continue;
    return testing::AssertionFailure()
           << "the weight of key " << key << " is " << weight << " where " << exact[key]
           << " is right within " << bound << " of it";
  }
  if (is_within(sum, row.keys == 0 ? 0 : 1, bound)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the weights have the sum " << sum;
}

std::string place(const reference::QueryIndex& index) {
  return "batch " + std::to_string(index.batch) + ", head " + std::to_string(index.head) +
         ", query " + std::to_string(index.query);
}

}  // namespace

std::vector<EncodingSample> attend_encodings(const AttentionShape& shape) {
  std::vector<EncodingSample> all;
  for (EncodingSample& sample : attention_encodings(shape)) {
    const reference::AttentionEncoding& of = sample.encoding;
    if (!of.cope.empty()) continue;
    all.push_back(std::move(sample));
  }
  std::vector<double> inv_freq;
  for (std::int64_t pair = 0; 2 * pair < shape.features; ++pair)
    inv_freq.push_back(std::pow(0.3, static_cast<double>(pair)));
  for (const Pairing pairing : all_pairings) {
    const reference::Rotary whole{
        .window = {.head_dim = shape.features, .rotary_dim = shape.features, .pairing = pairing},
        .inv_freq = inv_freq};
    all.push_back({"rotary of whole heads", {.rotary = whole}});
    all.push_back(
        {"rotary and a bias",
         {.rotary = whole, .bias = Alibi{.heads = shape.heads, .form = AlibiForm::symmetric}}});
  }
  const HeadWindow last{.head_dim = shape.features,
                        .rotary_dim = 4,
                        .first_feature = shape.features - 4,
                        .pairing = Pairing::half};
  all.push_back({"rotary of the last features",
                 {.rotary = reference::Rotary{.window = last, .inv_freq = {-0.5, 0.01}}}});
  const reference::ShawVectors keys = random_vectors({30, 30}, shape.features, 31);
  const reference::ShawVectors values = random_vectors({2, 40}, shape.value_features, 32);
  const reference::Rotary whole{.window = {.head_dim = shape.features,
                                           .rotary_dim = shape.features,
                                           .pairing = Pairing::interleaved},
                                .inv_freq = inv_freq};
  all.push_back({"shaw values", {.shaw_values = values}});
  all.push_back({"rotary, wide shaw keys", {.rotary = whole, .shaw_keys = keys}});
  all.push_back({"rotary, a bias and shaw values",
                 {.rotary = whole, .bias = Alibi{.heads = shape.heads}, .shaw_values = values}});
  return all;
}

Attended::Attended(AttendCase made_of)
    : q(random_tensor({made_of.q.dtype,
                       heads_of(made_of.shape, made_of.shape.queries, made_of.shape.heads,
                                made_of.shape.features),
                       made_of.q.layout},
                      made_of.seed)),
      k(random_tensor({made_of.k.dtype,
                       heads_of(made_of.shape, made_of.shape.keys, made_of.shape.key_heads,
                                made_of.shape.features),
                       made_of.k.layout},
                      made_of.seed + 1)),
      v(random_tensor({made_of.v.dtype,
                       heads_of(made_of.shape, made_of.shape.keys, made_of.shape.key_heads,
                                made_of.shape.value_features),
                       made_of.v.layout},
                      made_of.seed + 2)),
      out({made_of.out.dtype,
           heads_of(made_of.shape, made_of.shape.queries, made_of.shape.heads,
                    made_of.shape.value_features),
           made_of.out.layout}),
      case_(std::move(made_of)) {
  const AttentionShape& s = case_.shape;
  log_sum_exp.assign(at(s.batch * s.heads * s.queries) + 2, guard);
  options_ = {.scale = case_.scale,
              .mask = case_.mask,
              .sequences = case_.sequences,
              .q_temperature = case_.q_temperature};
  const ScoresExtents extents{.batch = s.batch, .heads = s.heads, .queries = s.queries, .keys = 1};
  options_.log_sum_exp =
      ScoresView{log_sum_exp.data() + 1, DType::f32, extents, strides_bhqk(extents)};
  if (case_.encoding.bias) options_.encoding.bias = &*case_.encoding.bias;
  shaw_tensors_.reserve(2);
  if (case_.encoding.shaw_keys) {
    shaw_keys_ = shaw_table(*case_.encoding.shaw_keys);
    options_.encoding.shaw_keys = &*shaw_keys_;
  }
  if (case_.encoding.shaw_values) {
    shaw_values_ = shaw_table(*case_.encoding.shaw_values);
    options_.encoding.shaw_values = &*shaw_values_;
  }
  if (case_.encoding.rotary) turn();
}

// A new tensor; the reference gets its rounded numbers.
ShawTable Attended::shaw_table(reference::ShawVectors& vectors) {
  const std::int64_t rows = vectors.window.rows();
  const Extents extents{.tokens = rows,
                        .heads = 1,
                        .features = static_cast<std::int64_t>(vectors.table.size()) / rows};
  Tensor& tensor = shaw_tensors_.emplace_back(Shape{case_.shaw.dtype, extents, case_.shaw.layout});
  double* number = vectors.table.data();
  for_each_element(extents, [&](const HeadIndex& index, std::int64_t feature) {
    tensor.set(index, feature, *number);
    *number++ = tensor.at(index, feature);
  });
  const HeadsView view = tensor.view();
  return {vectors.window,
          {.data = view.data,
           .dtype = view.dtype,
           .rows = rows,
           .columns = extents.features,
           .row_stride = view.strides.token,
           .column_stride = view.strides.feature}};
}

void Attended::ask_for_weights() {
  const AttentionShape& s = case_.shape;
  const ScoresExtents extents{
      .batch = s.batch, .heads = s.heads, .queries = s.queries, .keys = s.keys};
  weights.assign(at(s.batch * s.heads * s.queries * s.keys) + 2, guard);
  options_.weights = ScoresView{weights.data() + 1, DType::f32, extents, strides_bhqk(extents)};
}

void Attended::turn() {
  const reference::Rotary& rotary = *case_.encoding.rotary;
  Frequencies frequencies =
      value_of(make_frequencies(rotary.window, rotary.inv_freq, rotary.attention_factor));
  frequencies.xpos = rotary.xpos;
  const Places places = places_of(*this);
  const auto rows = [&](const std::vector<std::int64_t>& positions, Role role) {
    RotationsOptions options;
    if (rotary.xpos) options.role = role;
    return value_of(
        make_rotations(frequencies, positions_of(positions, case_.shape.batch), options));
  };
  q_rotations_ = rows(places.queries, Role::query);
  k_rotations_ = rows(places.keys, Role::key);
  options_.encoding.q_rotations = &*q_rotations_;
  options_.encoding.k_rotations = &*k_rotations_;
}

std::vector<AttentionSequence> Attended::sequences() const {
  if (!case_.sequences.empty()) return case_.sequences;
  const AttentionShape& s = case_.shape;
  std::vector<AttentionSequence> all;
  for (std::int64_t batch = 0; batch < s.batch; ++batch)
    all.push_back({.batch = batch,
                   .queries = s.queries,
                   .keys = s.keys,
                   .query_position = s.keys - s.queries});
  return all;
}

Status Attended::run() { return attend(out.view(), q.view(), k.view(), v.view(), options_); }

Status Attended::run(const Pages& pages) {
  return attend(out.view(), q.view(), pages.keys(), options_);
}

Pages Attended::pages(std::int64_t slots) const {
  const AttentionShape& s = case_.shape;
  const auto count = static_cast<std::int64_t>(case_.sequences.size());
  const std::int64_t per_sequence = (s.keys + slots - 1) / slots;
  const std::int64_t blocks = 2 * count * per_sequence + 1;
  const auto extents = [&](std::int64_t features) {
    return Extents{.batch = blocks, .tokens = slots, .heads = s.key_heads, .features = features};
  };
  Pages pages{.k = random_tensor({case_.k.dtype, extents(s.features), Layout::bhtd}, 77),
              .v = random_tensor({case_.v.dtype, extents(s.value_features), Layout::bthd}, 78),
              .blocks = {},
              .table = {}};
  for (std::int64_t sequence = 0; sequence < count; ++sequence) {
    const AttentionSequence& of = case_.sequences[at(sequence)];
    for (std::int64_t block = 0; block < per_sequence; ++block) {
      const std::int64_t number = 2 * (count * per_sequence - 1 - (sequence + block * count)) + 1;
      pages.blocks.push_back(static_cast<std::int32_t>(number));
      for (std::int64_t slot = 0; slot < slots; ++slot) {
        const std::int64_t token = block * slots + slot;
        if (token >= s.keys) continue;
        for (std::int64_t head = 0; head < s.key_heads; ++head) {
          const HeadIndex to{number, slot, head};
          const HeadIndex from{of.batch, token, head};
          for (std::int64_t f = 0; f < s.features; ++f) pages.k.set_bits(to, f, k.bits_at(from, f));
          for (std::int64_t f = 0; f < s.value_features; ++f)
            pages.v.set_bits(to, f, v.bits_at(from, f));
        }
      }
    }
  }
  pages.table = {.blocks = pages.blocks.data(),
                 .sequences = count,
                 .blocks_of_sequence = per_sequence,
                 .stride = per_sequence};
  return pages;
}

reference::Attention Attended::attention() const {
  const AttentionMask& mask = case_.mask;
  Places places = places_of(*this);
  reference::Attention attention{
      .scale = case_.scale,
      .mask = {.order = mask.order == AttentionOrder::causal ? Order::causal : Order::bidirectional,
               .left = mask.left,
               .right = mask.right,
               .sinks = mask.sinks,
               .query_documents = std::move(places.query_documents),
               .key_documents = std::move(places.key_documents)},
      .encoding = case_.encoding};
  for (const std::int64_t position : places.queries) {
    const bool none = std::holds_alternative<NoTemperature>(case_.q_temperature);
    attention.query_factors.push_back(none ? 1 : query_factor(case_.q_temperature, position));
  }
  attention.query_positions = std::move(places.queries);
  attention.key_positions = std::move(places.keys);
  return attention;
}

testing::AssertionResult Attended::is_right() {
  record_bits(bits());
  const reference::AttentionInputs inputs{values_of(q), values_of(k), values_of(v)};
  const reference::Attention wanted = attention();
  const reference::AttentionResult exact = reference::attention(inputs, wanted);
  const reference::AttentionCase of = reference::case_of(inputs, wanted);
  std::size_t row = 0;
  testing::AssertionResult result = testing::AssertionSuccess();
  reference::for_each_query(of, [&](const reference::QueryIndex& index) {
    const std::size_t number = row++;
    if (!result) return;
    const RowSizes sizes = sizes_of(of, index);
    const double units = attend_error_bound(sizes.row);
    const HeadIndex head{index.batch, index.query, index.head};
    const double* values =
        exact.out.values.data() +
        reference::offset_of(exact.out.extents, index.batch, index.query, index.head);
    for (std::size_t f = 0; f < sizes.values.size(); ++f) {
      const double size = sizes.values[f];
      const double bound =
          size == 0 ? 0 : stored_error_bound(case_.out.dtype, units, size) * 0x1p-24 * size;
      const double computed = out.at(head, static_cast<std::int64_t>(f));
      if (is_within(computed, values[f], bound)) continue;
      result = testing::AssertionFailure()
               << place(index) << ", feature " << f << ": " << computed << " where " << values[f]
               << " is right within " << bound << "; sees " << sizes.row.keys << " keys";
      return;
    }
    const double lse = exact.log_sum_exp[number];
    const double lse_bound = std::isinf(lse) ? 0 : attend_log_sum_exp_error_bound(sizes.row, lse);
    if (!is_within(log_sum_exp[number + 1], lse, lse_bound)) {
      result = testing::AssertionFailure()
               << place(index) << ": log_sum_exp " << log_sum_exp[number + 1] << " where " << lse
               << " is right within " << lse_bound;
    }
    if (result && !weights.empty())
      result = are_weights(
          std::span(std::as_const(weights))
              .subspan(1 + number * at(case_.shape.keys), at(case_.shape.keys)),
          std::span(exact.weights).subspan(number * at(case_.shape.keys), at(case_.shape.keys)),
          sizes.row);
  });
  if (!result) return result;
  if (!weights.empty() && (weights.front() != guard || weights.back() != guard))
    return testing::AssertionFailure() << "something around the weights was written";
  if (!out.guards_intact() || log_sum_exp.front() != guard || log_sum_exp.back() != guard)
    return testing::AssertionFailure() << "something around the result was written";
  return result;
}

std::vector<std::uint64_t> Attended::bits() const {
  std::vector<std::uint64_t> all = out.all_bits();
  for (const float value : log_sum_exp) all.push_back(std::bit_cast<std::uint32_t>(value));
  for (const float value : weights) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

double difference(const Tensor& a, std::int64_t a_token, const Tensor& b, std::int64_t b_token) {
  double largest = 0;
  Extents one = a.extents();
  one.tokens = 1;
  for_each_element(one, [&](const HeadIndex& at, std::int64_t f) {
    const double of_a = a.at({at.batch, a_token, at.head}, f);
    largest = std::max(largest, std::abs(of_a - b.at({at.batch, b_token, at.head}, f)));
  });
  return largest;
}

}  // namespace rotary::test
