// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/attend_answer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "fuzz/attention/checked_row.hpp"
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

// Sequences of an accepted case are in its tensors.
struct Placed {
  const AttendCase& of;
  AttentionSequence sequence;
  std::int64_t index;

  // The place of a key in k and v. Ends the process where an accepted call names a key that is not
  // there.
  [[nodiscard]] HeadPlace key_at(std::int64_t key, std::int64_t head) const {
    const std::int64_t token = sequence.first_key + key;
    if (!of.table) {
      if (token < 0 || token >= of.k.extents.tokens) fail("a key must be a token of k");
      return {sequence.batch, token, head};
    }
    const std::int64_t slots = of.k.extents.tokens;
    if (token / slots >= of.table->blocks_of_sequence) fail("a key must lie in a block");
    const std::int32_t block = of.table->blocks[index * of.table->stride + token / slots];
    if (block < 0 || block >= of.k.extents.batch) fail("a block must be one of the cache");
    return {block, token % slots, head};
  }
};

// Elements times their scale, as heads of the view's extents.
std::vector<double> int8_values(const ConstQuantizedHeadsView& view, const HeadPlace& at) {
  const auto& [n, s, f] = std::tuple(view.extents, view.strides, view.scale_strides);
  std::vector<double> values;
  for (std::int64_t i = 0; i < n.features; ++i) {
    const float scale = view.scales[at.batch * f.batch + at.token * f.token + at.head * f.head];
    const std::int8_t element =
        view.data[at.batch * s.batch + at.token * s.token + at.head * s.head + i * s.feature];
    values.push_back(static_cast<double>(scale) * element);
  }
  return values;
}

// The keys or values of the sequence: of the view, or in 8 bits.
reference::Heads keys_of(const Placed& at, const ConstHeadsView& view,
                         const ConstQuantizedHeadsView& in_int8) {
  const std::int64_t keys = at.sequence.keys;
  const auto key_at = [&](std::int64_t key, std::int64_t head) { return at.key_at(key, head); };
  if (!at.of.in_int8) return gathered(view, keys, key_at);
  reference::Heads heads{{1, keys, view.extents.heads, view.extents.features}, {}};
  for (std::int64_t i = 0; i < keys * view.extents.heads; ++i) {
    const auto values =
        int8_values(in_int8, key_at(i / view.extents.heads, i % view.extents.heads));
    heads.values.insert(heads.values.end(), values.begin(), values.end());
  }
  return heads;
}

reference::AttentionInputs inputs_of(const Placed& at) {
  const AttentionSequence& s = at.sequence;
  return {.q = gathered(at.of.q, s.queries,
                        [&](std::int64_t query, std::int64_t head) {
                          return HeadPlace{s.batch, s.first_query + query, head};
                        }),
          .k = keys_of(at, at.of.k, quantized_keys(at.of).k),
          .v = keys_of(at, at.of.v, quantized_keys(at.of).v)};
}

std::optional<reference::ShawVectors> vectors_of(const ShawTable* shaw) {
  if (shaw == nullptr) return std::nullopt;
  const ConstTableView& table = shaw->table;
  reference::ShawVectors vectors{shaw->window, {}};
  for (std::int64_t i = 0; i < table.rows * table.features; ++i) {
    const std::int64_t at =
        i / table.features * table.row_stride + i % table.features * table.feature_stride;
    vectors.table.push_back(value_at(
        table.dtype, static_cast<const std::byte*>(table.data) + at * size_in_bytes(table.dtype)));
  }
  return vectors;
}

// Heads, then queries, then keys of the sequence.
void read_masks(reference::Mask& to, const AttendCase& of, const AttentionSequence& s) {
  if (!of.options.additive_mask && !of.options.boolean_mask) return;
  const std::int64_t rows = of.q.extents.heads * s.queries;
  for (std::int64_t i = 0; i < rows * s.keys; ++i) {
    const MaskedPair at{.batch = s.batch,
                        .head = i / s.keys / s.queries,
                        .query = s.first_query + i / s.keys % s.queries,
                        .column = s.first_key + i % s.keys};
    to.pairs.push_back(leaves(of.options, at) ? 1 : 0);
    to.numbers.push_back(number_at(of.options, at));
  }
}

// Without rotations and bias: both are taken as they are.
reference::Attention attention_of(const AttendCase& of, const AttentionSequence& s) {
  const AttendOptions& options = of.options;
  reference::Attention attention{
      .scale = options.scale,
      .softcap = options.softcap,
      .mask = {.order = options.mask.order == AttentionOrder::causal
                            ? reference::Order::causal
                            : reference::Order::bidirectional,
               .left = options.mask.left,
               .right = options.mask.right,
               .sinks = options.mask.sinks},
      .encoding = {.shaw_keys = vectors_of(options.encoding.shaw_keys),
                   .shaw_values = vectors_of(options.encoding.shaw_values)},
      .query_positions = positions_from(s.query_position, s.queries),
      .key_positions = positions_from(s.key_position, s.keys),
      .query_factors = factors_of(options.q_temperature, s)};
  read_masks(attention.mask, of, s);
  return attention;
}

// One sequence with all that its rows share.
class SequenceAnswer {
 public:
  SequenceAnswer(const AttendCase& of, const AttentionSequence& sequence, std::int64_t index)
      : of_(of),
        s_(sequence),
        inputs_(inputs_of({of, sequence, index})),
        attention_(attention_of(of, sequence)),
        case_(reference::case_of(inputs_, attention_)) {
    const AttentionEncoding& encoding = of.options.encoding;
    if (encoding.q_rotations != nullptr)
      turn(case_.turned_q, *encoding.q_rotations, s_.batch, s_.first_query);
    if (encoding.k_rotations != nullptr)
      turn(case_.turned_k, *encoding.k_rotations, of.table ? index : s_.batch, s_.first_key);
    read_bias();
  }
  SequenceAnswer(const SequenceAnswer&) = delete;
  SequenceAnswer& operator=(const SequenceAnswer&) = delete;

  void check_row(std::int64_t query, std::int64_t head) const {
    const reference::QueryIndex at{.batch = 0, .head = head, .query = query};
    test::ExactRow exact = test::exact_row(case_, at, rotation_errors(),
                                           [&](std::int64_t key) { return score_of(at, key); });
    exact.set_quantized(of_.in_int8);
    const HeadPlace place{s_.batch, s_.first_query + query, head};
    check_row_of(exact, read_row(of_.out, place, of_.options.log_sum_exp, of_.options.weights),
                 s_.first_key, test::attend_bounds());
  }

 private:
  [[nodiscard]] test::KeyScore score_of(const reference::QueryIndex& at, std::int64_t key) const {
    const double score = reference::score_of(case_, at, key);
    const RelativeBias* const bias = of_.options.encoding.bias;
    if (bias == nullptr) return {.score = score};
    const double number = bias_[size((at.head * s_.queries + at.query) * s_.keys + key)];
    if (number == -std::numeric_limits<double>::infinity()) return {.score = number};
    const bool reads = std::holds_alternative<T5Bias>(*bias);
    return {score + number,
            reads ? std::abs(number)
                  : test::bias_size(*bias, reference::positions_of_pair(case_, at, key))};
  }

  // The rows are taken as they are, so positions play no part.
  [[nodiscard]] double rotation_errors() const {
    const AttentionEncoding& encoding = of_.options.encoding;
    const double each = rotate_error_bound(Direction::forward, 1, 0.0);
    return (encoding.q_rotations == nullptr ? 0 : each) +
           (encoding.k_rotations == nullptr ? 0 : each);
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

  const AttendCase& of_;
  AttentionSequence s_;
  reference::AttentionInputs inputs_;
  reference::Attention attention_;
  reference::AttentionCase case_;
  std::vector<double> bias_;  // [heads][queries][keys]
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
