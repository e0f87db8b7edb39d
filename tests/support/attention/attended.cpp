// SPDX-License-Identifier: Apache-2.0
#include "support/attention/attended.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "reference/attention_case.hpp"
#include "reference/position_maps.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

using reference::Order;

constexpr float guard = 12345.0F;

enum class Operand : std::uint8_t { q, k, v, out };

Shape shape_of(const AttendCase& made_of, const Form& form, Operand which) {
  const AttentionShape& s = made_of.shape;
  const bool of_keys = which == Operand::k || which == Operand::v;
  const bool of_values = which == Operand::v || which == Operand::out;
  return {form.dtype,
          {.batch = s.batch,
           .tokens = of_keys ? s.keys : s.queries,
           .heads = of_keys ? s.key_heads : s.heads,
           .features = of_values ? s.value_features : s.features},
          form.layout};
}

Tensor operand(const AttendCase& made_of, const Form& form, Operand which) {
  return random_tensor(shape_of(made_of, form, which),
                       made_of.seed + static_cast<std::uint64_t>(which));
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

std::string place(const reference::QueryIndex& index) {
  return "batch " + std::to_string(index.batch) + ", head " + std::to_string(index.head) +
         ", query " + std::to_string(index.query);
}

std::int64_t largest(const std::vector<std::int64_t>& positions) {
  std::int64_t most = 0;
  for (const std::int64_t position : positions) most = std::max(most, std::abs(position));
  return most;
}

// Maps turn queries and keys at positions up to this many times their own.
constexpr std::int64_t mapped_reach = 64;

// Errors of the rotation of a query and of a key, at positions up to `reach` times theirs.
double rotation_error(const reference::AttentionCase& of, std::int64_t reach) {
  const auto& rotary = of.attention.encoding.rotary;
  if (!rotary) return 0;
  const auto of_positions = [&](const std::vector<std::int64_t>& positions) {
    return rotate_error_bound(Direction::forward, rotary->attention_factor,
                              reach * largest(positions));
  };
  return of_positions(of.query_positions) + of_positions(of.key_positions);
}

double largest_norm(const Tensor& tensor) {
  double most = 0;
  for_each_element(tensor.extents(), [&](const HeadIndex& index, std::int64_t feature) {
    if (feature > 0) return;
    double squares = 0;
    for (std::int64_t f = 0; f < tensor.extents().features; ++f)
      squares += tensor.at(index, f) * tensor.at(index, f);
    most = std::max(most, std::sqrt(squares));
  });
  return most;
}

double largest(const reference::ShawVectors& vectors) {
  double number = 0;
  for (const double each : vectors.table) number = std::max(number, std::abs(each));
  return number;
}

}  // namespace

Attended::Attended(AttendCase made_of)
    : q(operand(made_of, made_of.q, Operand::q)),
      k(operand(made_of, made_of.k, Operand::k)),
      v(operand(made_of, made_of.v, Operand::v)),
      out(operand(made_of, made_of.out, Operand::out)),
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
  options_.softcap = case_.softcap;
  make_masks();
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
           .features = extents.features,
           .row_stride = view.strides.token,
           .feature_stride = view.strides.feature}};
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
  frequencies_ =
      value_of(make_frequencies(rotary.window, rotary.inv_freq, rotary.attention_factor));
  frequencies_->xpos = rotary.xpos;
  if (case_.map) return;
  const Places places = places_of(*this);
  const auto rows = [&](const std::vector<std::int64_t>& positions, Role role) {
    RotationsOptions options;
    if (rotary.xpos) options.role = role;
    return value_of(
        make_rotations(*frequencies_, positions_of(positions, case_.shape.batch), options));
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

Status Attended::run() {
  if (!case_.map) return attend(out.view(), q.view(), k.view(), v.view(), options_);
  return attend_mapped(out.view(), q.view(), k.view(), v.view(),
                       {.map = *case_.map, .frequencies = &*frequencies_, .attend = options_});
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
  attention.softcap = case_.softcap;
  read_masks(attention.mask);
  return attention;
}

testing::AssertionResult Attended::is_right() {
  if (!case_.map) record_bits(bits());
  const reference::AttentionInputs inputs{values_of(q), values_of(k), values_of(v)};
  const reference::Attention wanted = attention();
  const reference::AttentionCase of = reference::case_of(inputs, wanted);
  const double rotation = rotation_error(of, case_.map ? mapped_reach : 1);
  std::string wrong;
  std::size_t row = 0;
  reference::for_each_query(of, [&](const reference::QueryIndex& index) {
    const std::size_t number = row++;
    if (!wrong.empty()) return;
    ExactRow exact =
        exact_row(of, index, rotation, [&](std::int64_t key) { return score_of(of, index, key); });
    exact.set_quantized(case_.quantized);
    wrong = fault(exact, index, number);
    if (!wrong.empty()) wrong = place(index) + ": " + wrong;
  });
  if (!wrong.empty()) return testing::AssertionFailure() << wrong;
  if (!weights.empty() && (weights.front() != guard || weights.back() != guard))
    return testing::AssertionFailure() << "something around the weights was written";
  if (!out.guards_intact() || log_sum_exp.front() != guard || log_sum_exp.back() != guard)
    return testing::AssertionFailure() << "something around the result was written";
  return testing::AssertionSuccess();
}

KeyScore Attended::score_of(const reference::AttentionCase& of, const reference::QueryIndex& index,
                            std::int64_t key) const {
  if (case_.map) return {.score = reference::mapped_score(of, *case_.map, index, key)};
  const double score = reference::score_of(of, index, key);
  const auto& bias = of.attention.encoding.bias;
  if (!bias) return {.score = score};
  return {score, bias_size(*bias, reference::positions_of_pair(of, index, key))};
}

// Every number that a test computes is in the contract.
std::string Attended::fault(const ExactRow& exact, const reference::QueryIndex& index,
                            std::size_t number) const {
  if (!exact.has_bounded_scores() || !exact.has_bounded_values())
    return "numbers that the contract says nothing of";
  std::vector<double> computed;
  for (std::int64_t f = 0; f < out.extents().features; ++f)
    computed.push_back(out.at({index.batch, index.query, index.head}, f));
  const std::size_t keys = at(case_.shape.keys);
  const auto row = weights.empty() ? std::span<const float>()
                                   : std::span(weights).subspan(1 + number * keys, keys);
  const std::vector<double> computed_weights(row.begin(), row.end());
  return exact.fault(
      {.dtype = case_.out.dtype,
       .out = computed,
       .log_sum_exp = log_sum_exp[number + 1],
       .weights = computed_weights},
      case_.map ? attend_mapped_bounds(*case_.map, frequencies_->window.pairs()) : attend_bounds());
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

double bound_of(const Attended& call, int turns) {
  double value = 0;
  for_each_element(call.v.extents(), [&](const HeadIndex& index, std::int64_t feature) {
    value = std::max(value, std::abs(call.v.at(index, feature)));
  });
  const std::int64_t keys = call.k.extents().tokens;
  const double query = std::abs(call.made_of().scale) * largest_norm(call.q);
  AttendedRow row{.head_dim = call.q.extents().features,
                  .keys = keys,
                  .score_size = query * largest_norm(call.k),
                  .rotation = turns * rotate_error_bound(Direction::forward, 1, 2 * keys),
                  .quantized = call.made_of().quantized};
  if (const auto& vectors = call.made_of().encoding.shaw_keys) {
    row.distance_size = query * std::sqrt(static_cast<double>(row.head_dim)) * largest(*vectors);
    row.score_size += row.distance_size;
  }
  if (const auto& vectors = call.made_of().encoding.shaw_values) {
    row.value_distances = std::min(keys, vectors->window.rows());
    value += largest(*vectors);
  }
  return attend_bounds().out(row) * 0x1p-24 * value;
}

testing::AssertionResult is_right(Attended& call) {
  const Status status = call.run();
  if (!status) return testing::AssertionFailure() << status.error().message;
  return call.is_right();
}

testing::AssertionResult is_right(const AttendCase& made_of) {
  Attended call(made_of);
  return is_right(call);
}

}  // namespace rotary::test
