// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/attend_answer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "fuzz/attention/head_values.hpp"
#include "fuzz/attention/softmax_row.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"

namespace rotary::fuzz {
namespace {

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

std::vector<AttentionSequence> sequences_of(const AttendCase& of) {
  if (!of.sequences.empty() || of.table) return of.sequences;
  std::vector<AttentionSequence> all;
  for (std::int64_t batch = 0; batch < of.q.extents.batch; ++batch) {
    const std::int64_t keys = of.k.extents.tokens;
    all.push_back({.batch = batch,
                   .queries = of.q.extents.tokens,
                   .keys = keys,
                   .query_position = keys - of.q.extents.tokens});
  }
  return all;
}

// The comments of AttentionMask.
bool sees(const AttentionMask& mask, const AttentionSequence& s, std::int64_t query,
          std::int64_t key) {
  const std::int64_t i = s.query_position + query;
  const std::int64_t j = s.key_position + key;
  if (mask.order == AttentionOrder::causal && j > i) return false;
  if (key < mask.sinks) return true;
  if (mask.left && i - j > *mask.left) return false;
  return !mask.right || j - i <= *mask.right;
}

double element_of(const ConstMatrixView& table, std::int64_t row, std::int64_t column) {
  const std::int64_t at = row * table.row_stride + column * table.column_stride;
  return value_at(table.dtype,
                  static_cast<const std::byte*>(table.data) + at * size_in_bytes(table.dtype));
}

// Shaw's vectors, each read when a distance first asks for it.
class ShawRows {
 public:
  explicit ShawRows(const ShawTable* shaw) : shaw_(shaw) {}

  // Empty where there is no table. Valid until the next call.
  [[nodiscard]] std::span<const double> at(std::int64_t distance) {
    if (shaw_ == nullptr) return {};
    const ShawWindow& window = shaw_->window;
    const std::int64_t row = window.left + std::clamp(distance, -window.left, window.right);
    std::vector<double>& values = rows_[row];
    if (values.empty()) {
      for (std::int64_t f = 0; f < shaw_->table.columns; ++f)
        values.push_back(element_of(shaw_->table, row, f));
    }
    return values;
  }

 private:
  const ShawTable* shaw_;
  std::map<std::int64_t, std::vector<double>> rows_;
};

// The magnitudes of what the formula of a bias adds, of which `value` is the sum. Of ALiBi's form
// key_position, what attend() adds to the scores and to their log-sum-exp.
double bias_size(const RelativeBias& bias, double value, const BiasIndex& at) {
  const double distance = std::abs(static_cast<double>(at.key - at.query));
  if (const auto* const alibi = std::get_if<Alibi>(&bias)) {
    if (alibi->form != AlibiForm::key_position) return std::abs(value);
    const auto at_1 = bias_at(bias, {.head = at.head, .query = 0, .key = 1});
    if (!at_1) fail("a bias must have a value", at_1.error().message);
    return std::abs(*at_1) *
           (std::abs(static_cast<double>(at.query)) + std::abs(static_cast<double>(at.key)));
  }
  if (const auto* const sandwich = std::get_if<Sandwich>(&bias)) {
    return static_cast<double>(sandwich->dim * sandwich->heads) /
           (8.0 * static_cast<double>(at.head + 1));
  }
  const auto* const fire = std::get_if<Fire>(&bias);
  if (fire == nullptr) return std::abs(value);
  const double c = std::abs(fire->c);
  const double reach = std::max(static_cast<double>(at.query), std::abs(fire->threshold));
  const double x = std::log(c * distance + 1) / (std::log(c * reach + 1) + fire->epsilon);
  const std::size_t width = fire->hidden_weight.size();
  double sum = std::abs(fire->output_bias[size(at.head)]);
  for (std::size_t k = 0; k < width; ++k) {
    sum += std::abs(fire->output_weight[size(at.head) * width + k]) *
           (std::abs(fire->hidden_weight[k]) * x + std::abs(fire->hidden_bias[k]));
  }
  return sum;
}

// One sequence with all that its rows share.
class SequenceAnswer {
 public:
  SequenceAnswer(const AttendCase& of, const AttentionSequence& sequence, std::int64_t index)
      : of_(of),
        s_(sequence),
        index_(index),
        shaw_keys_(of.options.encoding.shaw_keys),
        shaw_values_(of.options.encoding.shaw_values) {
    read_keys();
    read_bias();
  }

  void check_row(std::int64_t query, std::int64_t head) {
    const AttentionEncoding& encoding = of_.options.encoding;
    const std::int64_t token = s_.first_query + query;
    const std::int64_t position = s_.query_position + query;
    const double factor = of_.options.scale * factor_of(position);
    std::vector<double> q = head_values(of_.q, {s_.batch, token, head});
    const double plain_norm = std::abs(factor) * norm(q);
    const std::vector<double> plain = q;
    if (encoding.q_rotations != nullptr)
      turn(q, *encoding.q_rotations, encoding.q_rotations->batch() == 1 ? 0 : s_.batch, token);
    const double q_norm = std::abs(factor) * norm(q);
    row_.begin(of_.q.extents.features, rotation_errors(), size(of_.v.extents.features));
    for (std::int64_t key = 0; key < s_.keys; ++key) {
      if (!sees(of_.options.mask, s_, query, key)) continue;
      const std::vector<double>& k = keys_[size(key * kv_heads() + kv_head(head))];
      const std::int64_t distance = s_.key_position + key - position;
      SeenKey seen{.column = s_.first_key + key,
                   .score = factor * dot(q, k),
                   .size = q_norm * norm(k),
                   .largest_factor = std::max({q_norm, plain_norm, norm(k)})};
      if (encoding.shaw_keys != nullptr) {
        const std::span<const double> a = shaw_keys_.at(distance);
        seen.score += factor * dot(plain, a);
        seen.distance_size = plain_norm * norm(a);
        seen.largest_factor = std::max(seen.largest_factor, norm(a));
        seen.size += seen.distance_size;
      }
      if (encoding.bias != nullptr) {
        const double bias = bias_[size((head * s_.queries + query) * s_.keys + key)];
        seen.is_masked = bias == -std::numeric_limits<double>::infinity();
        if (!seen.is_masked) {
          seen.score += bias;
          seen.size += bias_size(*encoding.bias, bias,
                                 {.head = head, .query = position, .key = s_.key_position + key});
        }
      }
      row_.add(seen, values_[size(key * kv_heads() + kv_head(head))], shaw_values_.at(distance));
    }
    if (encoding.shaw_values != nullptr)
      row_.set_value_distances(encoding.shaw_values->window.rows());
    check_computed(token, head);
  }

 private:
  [[nodiscard]] std::int64_t kv_heads() const { return of_.k.extents.heads; }
  [[nodiscard]] std::int64_t kv_head(std::int64_t head) const {
    return head / (of_.q.extents.heads / kv_heads());
  }

  [[nodiscard]] double factor_of(std::int64_t position) const {
    const QueryTemperature& temperature = of_.options.q_temperature;
    if (std::holds_alternative<NoTemperature>(temperature)) return 1;
    return query_factor(temperature, position);
  }

  // The rows are taken as they are, so positions play no part.
  [[nodiscard]] double rotation_errors() const {
    const AttentionEncoding& encoding = of_.options.encoding;
    const double each = rotate_error_bound(Direction::forward, 1, 0.0);
    return (encoding.q_rotations == nullptr ? 0 : each) +
           (encoding.k_rotations == nullptr ? 0 : each);
  }

  // The place of a key in k and v. Ends the process where an accepted call names a key that is not
  // there.
  [[nodiscard]] HeadPlace place_of(std::int64_t key, std::int64_t head) const {
    const std::int64_t token = s_.first_key + key;
    if (!of_.table) {
      if (token < 0 || token >= of_.k.extents.tokens) fail("a key must be a token of k");
      return {s_.batch, token, head};
    }
    const std::int64_t slots = of_.k.extents.tokens;
    if (token / slots >= of_.table->blocks_of_sequence) fail("a key must lie in a block");
    const std::int32_t block = of_.table->blocks[index_ * of_.table->stride + token / slots];
    if (block < 0 || block >= of_.k.extents.batch) fail("a block must be one of the cache");
    return {block, token % slots, head};
  }

  void read_keys() {
    const Rotations* const rotations = of_.options.encoding.k_rotations;
    for (std::int64_t key = 0; key < s_.keys; ++key) {
      for (std::int64_t head = 0; head < kv_heads(); ++head) {
        keys_.push_back(head_values(of_.k, place_of(key, head)));
        values_.push_back(head_values(of_.v, place_of(key, head)));
        if (rotations == nullptr) continue;
        const std::int64_t row = of_.table ? index_ : s_.batch;
        turn(keys_.back(), *rotations, rotations->batch() == 1 ? 0 : row, s_.first_key + key);
      }
    }
  }

  void read_bias() {
    const RelativeBias* const bias = of_.options.encoding.bias;
    if (bias == nullptr) return;
    const ScoresExtents extents{
        .batch = 1, .heads = of_.q.extents.heads, .queries = s_.queries, .keys = s_.keys};
    bias_.resize(size(extents.heads * extents.queries * extents.keys));
    const auto status =
        fill_bias({bias_.data(), DType::f64, extents, strides_bhqk(extents)}, *bias,
                  BiasRange{.first_query = s_.query_position, .first_key = s_.key_position});
    if (!status) fail("a bias must be filled", status.error().message);
  }

  void check_computed(std::int64_t token, std::int64_t head) {
    const std::vector<double> out = head_values(of_.out, {s_.batch, token, head});
    ComputedRow computed{.dtype = of_.out.dtype, .out = out};
    const auto scores_at = [&](const ScoresView& view, std::int64_t key) {
      const ScoresStrides& s = view.strides;
      return static_cast<double>(static_cast<const float*>(
          view.data)[s_.batch * s.batch + head * s.head + token * s.query + key * s.key]);
    };
    if (of_.options.log_sum_exp) computed.log_sum_exp = scores_at(*of_.options.log_sum_exp, 0);
    std::vector<double> weights;
    if (of_.options.weights) {
      for (std::int64_t key = 0; key < of_.options.weights->extents.keys; ++key)
        weights.push_back(scores_at(*of_.options.weights, key));
      computed.weights = weights;
    }
    row_.check(computed, attend_bounds());
  }

  const AttendCase& of_;
  AttentionSequence s_;
  std::int64_t index_;
  ShawRows shaw_keys_;
  ShawRows shaw_values_;
  std::vector<std::vector<double>> keys_;    // [keys][kv heads], turned
  std::vector<std::vector<double>> values_;  // [keys][kv heads]
  std::vector<double> bias_;                 // [heads][queries][keys]
  SoftmaxRow row_;
};

// Queries [begin, end) of a batch row, which are in no sequence.
void check_gap(const AttendCase& of, std::int64_t batch, std::int64_t begin, std::int64_t end) {
  SequenceAnswer gap(of, {.batch = batch, .first_query = begin, .queries = end - begin}, 0);
  for (std::int64_t query = 0; query < end - begin; ++query) {
    for (std::int64_t head = 0; head < of.q.extents.heads; ++head) gap.check_row(query, head);
  }
}

}  // namespace

bool ends_soon(const AttendCase& of) {
  constexpr std::int64_t few = 5000;
  constexpr std::int64_t refused = std::int64_t{1} << 31;
  const auto is_soon = [](std::int64_t keys) { return keys <= few || keys > refused; };
  if (of.sequences.empty()) return is_soon(of.k.extents.tokens);
  return std::ranges::all_of(of.sequences,
                             [&](const AttentionSequence& s) { return is_soon(s.keys); });
}

bool is_small(const AttendCase& of) {
  constexpr double most = 1 << 18;
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const Extents& q = of.q.extents;
  const double of_row = number(q.heads) * (4 + number(q.features) + number(of.v.extents.features));
  double work = number(q.batch) * (1 + number(q.tokens)) * of_row;
  if (!(work <= most)) return false;
  for (const AttentionSequence& s : sequences_of(of))
    work += number(s.queries + 1) * number(s.keys) * of_row;
  return work <= most;
}

void allow_results(Arena& arena, const AttendCase& of) {
  arena.allow_nothing();
  allow_elements(arena, of.out);
  if (of.options.log_sum_exp) allow_elements(arena, as_heads(*of.options.log_sum_exp));
  if (of.options.weights) allow_elements(arena, as_heads(*of.options.weights));
}

void check_results(const AttendCase& of) {
  const Extents& q = of.q.extents;
  std::int64_t index = 0;
  std::int64_t batch = 0;
  std::int64_t token = 0;
  const auto close_rows = [&](std::int64_t next_batch) {
    for (; batch < next_batch; ++batch, token = 0) check_gap(of, batch, token, q.tokens);
  };
  for (const AttentionSequence& s : sequences_of(of)) {
    if (s.batch < batch || s.batch >= q.batch) fail("sequences must be in the order of batch rows");
    close_rows(s.batch);
    if (s.first_query < token || s.queries < 0 || s.first_query + s.queries > q.tokens)
      fail("queries must be in order, and tokens of q");
    check_gap(of, batch, token, s.first_query);
    SequenceAnswer answer(of, s, index++);
    for (std::int64_t query = 0; query < s.queries; ++query) {
      for (std::int64_t head = 0; head < q.heads; ++head) answer.check_row(query, head);
    }
    token = s.first_query + s.queries;
  }
  close_rows(q.batch);
}

}  // namespace rotary::fuzz
