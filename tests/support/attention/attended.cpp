// SPDX-License-Identifier: Apache-2.0
#include "support/attention/attended.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

constexpr float guard = 12345.0F;

enum class Operand : std::uint8_t { q, k, v, out };

Tensor operand(const AttendCase& made_of, const Form& form, Operand which) {
  const AttentionShape& s = made_of.shape;
  const bool of_keys = which == Operand::k || which == Operand::v;
  const bool of_values = which == Operand::v || which == Operand::out;
  return random_tensor({form.dtype,
                        {s.batch, of_keys ? s.keys : s.queries, of_keys ? s.key_heads : s.heads,
                         of_values ? s.value_features : s.features},
                        form.layout},
                       made_of.seed + static_cast<std::uint64_t>(which));
}

Int8Heads int8_heads(const Extents& extents, Lying lying, std::uint64_t seed) {
  Int8Heads heads(extents, lying);
  heads.fill(seed, -7, -5);
  return heads;
}

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

double largest_norm(const Tensor& tensor) {
  double most = 0;
  for_each_element(tensor.extents(), [&](const HeadIndex& index, std::int64_t feature) {
    if (feature > 0) return;
    double squares = 0;
    for (const double each : check::head_at(tensor.view(), index)) squares += each * each;
    most = std::max(most, std::sqrt(squares));
  });
  return most;
}

double largest(const reference::ShawVectors& vectors) {
  double number = 0;
  for (const double each : vectors.table) number = std::max(number, std::abs(each));
  return number;
}

void copy_head(const Tensor& from, const HeadIndex& from_at, Tensor& to, const HeadIndex& to_at) {
  for (std::int64_t f = 0; f < from.extents().features; ++f)
    to.set_bits(to_at, f, from.bits_at(from_at, f));
}

void copy_head(const Int8Heads& from, const HeadIndex& from_at, const Int8Heads& to,
               const HeadIndex& to_at) {
  to.scale(to_at) = from.scale(from_at);
  for (std::int64_t f = 0; f < from.view().extents.features; ++f)
    to.element(to_at, f) = from.element(from_at, f);
}

Tensor float32_of(const Tensor& numbers) {
  Tensor floats({.dtype = DType::f32, .extents = numbers.extents()});
  for_each_element(numbers.extents(), [&](const HeadIndex& index, std::int64_t f) {
    floats.set(index, f, numbers.at(index, f));
  });
  return floats;
}

}  // namespace

Attended::Attended(AttendCase made_of)
    : KeysAndValues{.k = operand(made_of, made_of.k, Operand::k),
                    .v = operand(made_of, made_of.v, Operand::v)},
      q(operand(made_of, made_of.q, Operand::q)),
      out(operand(made_of, made_of.out, Operand::out)),
      case_(std::move(made_of)) {
  const AttentionShape& s = case_.shape;
  if (case_.in_int8) {
    int8_k.emplace(int8_heads(k.extents(), *case_.in_int8, case_.seed + 1));
    int8_v.emplace(int8_heads(v.extents(), *case_.in_int8, case_.seed + 2));
    k = int8_k->values();
    v = int8_v->values();
  }
  log_sum_exp.assign(at(s.batch * s.heads * s.queries) + 2, guard);
  options_ = {.scale = case_.scale,
              .softcap = case_.softcap,
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
  make_masks();
  if (case_.encoding.rotary) turn();
}

ShawTable Attended::shaw_table(const reference::ShawVectors& vectors) {
  const std::int64_t rows = vectors.window.rows();
  const Extents extents{.tokens = rows,
                        .heads = 1,
                        .features = static_cast<std::int64_t>(vectors.table.size()) / rows};
  Tensor& tensor = shaw_tensors_.emplace_back(Shape{case_.shaw.dtype, extents, case_.shaw.layout});
  const double* number = vectors.table.data();
  for_each_element(extents, [&](const HeadIndex& index, std::int64_t feature) {
    tensor.set(index, feature, *number++);
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

// Makes rotations for the case. Tokens outside every sequence get position 0.
void Attended::turn() {
  const reference::Rotary& rotary = *case_.encoding.rotary;
  frequencies_ =
      value_of(make_frequencies(rotary.window, rotary.inv_freq, rotary.attention_factor));
  frequencies_->xpos = rotary.xpos;
  if (case_.map) return;
  const AttentionShape& shape = case_.shape;
  std::vector<std::int64_t> of_queries(at(shape.batch * shape.queries));
  std::vector<std::int64_t> of_keys(at(shape.batch * shape.keys));
  for (const AttentionSequence& s : call().sequences()) {
    for (std::int64_t r = 0; r < s.queries; ++r)
      of_queries[at(s.batch * shape.queries + s.first_query + r)] = s.query_position + r;
    for (std::int64_t c = 0; c < s.keys; ++c)
      of_keys[at(s.batch * shape.keys + s.first_key + c)] = s.key_position + c;
  }
  const auto rows = [&](const std::vector<std::int64_t>& positions, Role role) {
    RotationsOptions options;
    if (rotary.xpos) options.role = role;
    return value_of(make_rotations(*frequencies_, positions_of(positions, shape.batch), options));
  };
  q_rotations_ = rows(of_queries, Role::query);
  k_rotations_ = rows(of_keys, Role::key);
  options_.encoding.q_rotations = &*q_rotations_;
  options_.encoding.k_rotations = &*k_rotations_;
}

check::AttendCall Attended::call_of(KeysAndValues& keys) {
  check::AttendCall call;
  call.out = out.view();
  call.q = q.view();
  call.k = keys.k.view();
  call.v = keys.v.view();
  if (keys.int8_k) call.set_quantized(keys.int8_k->view(), keys.int8_v->view());
  call.options = options_;
  call.map = case_.map;
  if (frequencies_) call.frequencies = &*frequencies_;
  return call;
}

// Masks have spare columns for the unused slots of pages.
Status Attended::run(Pages pages) {
  check::AttendCall call = call_of(pages);
  call.table = pages.table;
  const std::int64_t columns = pages.k.extents().tokens * pages.table.blocks_of_sequence;
  const auto widen = [&](auto& mask) {
    if (mask && mask->extents.keys != 1) mask->extents.keys = columns;
  };
  widen(call.options.additive_mask);
  widen(call.options.boolean_mask);
  return check::run(call);
}

Status Attended::run_on_floats() {
  KeysAndValues floats{.k = float32_of(k), .v = float32_of(v)};
  return check::run(call_of(floats));
}

Pages Attended::pages(std::int64_t slots, Lying lying) const {
  const AttentionShape& s = case_.shape;
  const auto count = static_cast<std::int64_t>(case_.sequences.size());
  const std::int64_t per_sequence = (s.keys + slots - 1) / slots;
  const auto extents = [&](std::int64_t features) {
    return Extents{2 * count * per_sequence + 1, slots, s.key_heads, features};
  };
  const auto [of_k, of_v] = std::pair(extents(s.features), extents(s.value_features));
  Pages pages{{.k = random_tensor({std::as_const(k).view().dtype, of_k, Layout::bhtd}, 77),
               .v = random_tensor({std::as_const(v).view().dtype, of_v, Layout::bthd}, 78)}};
  if (int8_k) {
    pages.int8_k.emplace(int8_heads(of_k, lying, 77));
    pages.int8_v.emplace(int8_heads(of_v, lying, 78));
  }
  for (std::int64_t sequence = 0; sequence < count; ++sequence) {
    for (std::int64_t block = 0; block < per_sequence; ++block) {
      const std::int64_t number = 2 * (count * per_sequence - 1 - (sequence + block * count)) + 1;
      pages.blocks.push_back(static_cast<std::int32_t>(number));
      for (std::int64_t i = 0; i < slots * s.key_heads; ++i) {
        const HeadIndex to{number, i / s.key_heads, i % s.key_heads};
        const HeadIndex from{case_.sequences[at(sequence)].batch, block * slots + to.token,
                             to.head};
        if (from.token >= s.keys) continue;
        copy_head(k, from, pages.k, to);
        copy_head(v, from, pages.v, to);
        if (!int8_k) continue;
        copy_head(*int8_k, from, *pages.int8_k, to);
        copy_head(*int8_v, from, *pages.int8_v, to);
      }
    }
  }
  pages.table = {.blocks = pages.blocks.data(),
                 .sequences = count,
                 .blocks_of_sequence = per_sequence,
                 .stride = per_sequence};
  return pages;
}

testing::AssertionResult Attended::is_right() {
  if (!case_.map) record_bits(bits());
  const check::Verdict found = check::verdict(call(), case_.encoding);
  if (!found.fault.empty()) return testing::AssertionFailure() << found.fault;
  if (found.rows_beyond > 0)
    return testing::AssertionFailure() << "the contract has no bound for these numbers";
  if (!weights.empty() && (weights.front() != guard || weights.back() != guard))
    return testing::AssertionFailure() << "a guard around the weights was overwritten";
  if (!out.guards_intact() || log_sum_exp.front() != guard || log_sum_exp.back() != guard)
    return testing::AssertionFailure() << "a guard around the result was overwritten";
  return testing::AssertionSuccess();
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
                  .quantized = call.made_of().in_int8.has_value()};
  if (const auto& vectors = call.made_of().encoding.shaw_keys) {
    row.distance_size = query * std::sqrt(static_cast<double>(row.head_dim)) * largest(*vectors);
    row.score_size += row.distance_size;
  }
  if (const auto& vectors = call.made_of().encoding.shaw_values) {
    row.value_distances = std::min(keys, vectors->window.rows());
    value += largest(*vectors);
  }
  return attend_error_bound(row) * 0x1p-24 * value;
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
