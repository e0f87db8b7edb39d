// SPDX-License-Identifier: Apache-2.0
#include "support/attend.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "reference/attention_case.hpp"
#include "reference/relative.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
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

// Of tokens in no sequence 0.
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

std::int64_t largest(const std::vector<std::int64_t>& positions) {
  std::int64_t most = 0;
  for (const std::int64_t position : positions) most = std::max(most, std::abs(position));
  return most;
}

// The sizes that the bounds of one query are made of.
struct RowSizes {
  AttendedRow row;
  std::vector<double> values;  // [features] largest |v|
};

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

RowSizes sizes_of(const reference::AttentionCase& of, const reference::QueryIndex& index) {
  const Extents& v = of.v.extents;
  const std::int64_t features = of.q.extents.features;
  RowSizes sizes{.row = {.head_dim = features}, .values = std::vector<double>(at(v.features), 0.0)};
  const double q = norm(of.turned_q.values.data() + reference::query_offset(of, index), features);
  for (std::int64_t key = 0; key < v.tokens; ++key) {
    if (!reference::sees(of, index, key)) continue;
    ++sizes.row.keys;
    const double k = norm(
        of.turned_k.values.data() + reference::key_offset(of, of.turned_k, index, key), features);
    double score = std::abs(of.attention.scale) * q * k;
    if (const auto& bias = of.attention.encoding.bias)
      score += bias_size(*bias, reference::positions_of_pair(of, index, key));
    sizes.row.score_size = std::max(sizes.row.score_size, score);
    const double* value = of.v.values.data() + reference::key_offset(of, of.v, index, key);
    for (std::size_t f = 0; f < sizes.values.size(); ++f)
      sizes.values[f] = std::max(sizes.values[f], std::abs(value[f]));
  }
  if (const auto& rotary = of.attention.encoding.rotary) {
    const double factor = rotary->attention_factor;
    sizes.row.rotation =
        rotate_error_bound(Direction::forward, factor, largest(of.query_positions)) +
        rotate_error_bound(Direction::forward, factor, largest(of.key_positions));
  }
  return sizes;
}

// What is computed is within the bound, or both are the same infinity.
bool is_within(double computed, double exact, double bound) {
  if (computed == exact) return true;
  return std::abs(computed - exact) <= bound;
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
    if (of.shaw_keys || of.shaw_values || !of.cope.empty()) continue;
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
  if (case_.encoding.rotary) turn();
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
  });
  if (!result) return result;
  if (!out.guards_intact() || log_sum_exp.front() != guard || log_sum_exp.back() != guard)
    return testing::AssertionFailure() << "something around the result was written";
  return result;
}

std::vector<std::uint64_t> Attended::bits() const {
  std::vector<std::uint64_t> all = out.all_bits();
  for (const float value : log_sum_exp) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
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

}  // namespace

double bound_of(const Attended& call, int turns) {
  double value = 0;
  for_each_element(call.v.extents(), [&](const HeadIndex& at, std::int64_t feature) {
    value = std::max(value, std::abs(call.v.at(at, feature)));
  });
  const std::int64_t keys = call.k.extents().tokens;
  const AttendedRow row{
      .head_dim = call.q.extents().features,
      .keys = keys,
      .score_size = std::abs(call.made_of().scale) * norm_of(call.q) * norm_of(call.k),
      .rotation = turns * rotate_error_bound(Direction::forward, 1, 2 * keys)};
  return attend_error_bound(row) * 0x1p-24 * value;
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
