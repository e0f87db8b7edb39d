// SPDX-License-Identifier: Apache-2.0
// The reference computes each sequence separately. Queries in no sequence count as a sequence
// without keys.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check/attend_call.hpp"
#include "check/attend_row.hpp"
#include "reference/forms.hpp"
#include "reference/position_maps.hpp"
#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"

namespace rotary::check {
namespace {

using reference::QueryIndex;
using reference::size_of;

// Under a map, angles at positions beyond `farthest` are too inexact to compare. A map rotates at
// positions up to map_reach times the positions of tokens.
constexpr std::int64_t farthest = std::int64_t{1} << 24;
constexpr double map_reach = 64;

struct Placed {
  AttentionSequence sequence;
  std::int64_t index = 0;  // in the block table
};

HeadIndex key_at(const AttendCall& call, const Placed& at, std::int64_t key, std::int64_t head) {
  const std::int64_t token = at.sequence.first_key + key;
  if (!call.table) return {at.sequence.batch, token, head};
  const std::int64_t slots = call.k.extents.tokens;
  return {call.table->blocks[at.index * call.table->stride + token / slots], token % slots, head};
}

// Names queries out of order, or tokens that do not exist. A successful call has neither.
std::string misplaced(const AttendCall& call, const Placed& at, const Placed& before) {
  const AttentionSequence& s = at.sequence;
  const AttentionSequence& last = before.sequence;
  const Extents& q = call.q.extents;
  const std::int64_t first = s.batch == last.batch ? last.first_query + last.queries : 0;
  if (s.batch < last.batch || s.batch >= q.batch || s.first_query < first || s.queries < 0 ||
      s.first_query + s.queries > q.tokens)
    return "queries must be tokens of q, in order";
  const Extents& k = call.k.extents;
  if (!call.table)
    return s.first_key < 0 || s.first_key + s.keys > k.tokens ? "keys must be tokens of k" : "";
  for (std::int64_t key = 0; key < s.keys; ++key) {
    if ((s.first_key + key) / k.tokens >= call.table->blocks_of_sequence)
      return "a key must be in a block";
    const std::int64_t block = key_at(call, at, key, 0).batch;
    if (block < 0 || block >= k.batch) return "a block must be one of the cache";
  }
  return {};
}

// One batch row with `tokens` tokens; head_of(token, head) gives the features.
template <class HeadOf>
reference::Heads heads_of(std::int64_t tokens, const Extents& n, const HeadOf& head_of) {
  reference::Heads heads{{1, tokens, n.heads, n.features}, {}};
  for (std::int64_t i = 0; i < tokens * n.heads; ++i) {
    const std::vector<double> head = head_of(i / n.heads, i % n.heads);
    heads.values.insert(heads.values.end(), head.begin(), head.end());
  }
  return heads;
}

// A sequence's keys or values. An 8-bit number is scale * element, which double holds exactly.
reference::Heads keys_of(const AttendCall& call, const Placed& of, const HeadsView& view,
                         const HeadsView& scales) {
  return heads_of(of.sequence.keys, view.extents, [&](std::int64_t key, std::int64_t head) {
    const HeadIndex at = key_at(call, of, key, head);
    // Without features, strides may be anything.
    if (!call.in_int8 || view.extents.features == 0) return head_at(view, at);
    const Strides& s = view.strides;
    const auto* const first = static_cast<const std::int8_t*>(view.data) + at.batch * s.batch +
                              at.token * s.token + at.head * s.head;
    const double scale = reference::element(scales, at, 0);
    std::vector<double> features;
    for (std::int64_t f = 0; f < view.extents.features; ++f)
      features.push_back(scale * first[f * s.feature]);
    return features;
  });
}

reference::AttentionInputs inputs_of(const AttendCall& call, const Placed& of) {
  const AttentionSequence& s = of.sequence;
  return {.q = heads_of(s.queries, call.q.extents,
                        [&](std::int64_t query, std::int64_t head) {
                          return head_at(call.q, {s.batch, s.first_query + query, head});
                        }),
          .k = keys_of(call, of, call.k, call.k_scales),
          .v = keys_of(call, of, call.v, call.v_scales)};
}

std::optional<reference::ShawVectors> vectors_of(const ShawTable* shaw) {
  if (shaw == nullptr) return std::nullopt;
  reference::ShawVectors vectors{shaw->window, {}};
  for (std::int64_t row = 0; row < shaw->table.rows; ++row) {
    const std::vector<double> vector = head_at(as_heads(shaw->table), {.token = row});
    vectors.table.insert(vectors.table.end(), vector.begin(), vector.end());
  }
  return vectors;
}

std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < count; ++i) positions.push_back(first + i);
  return positions;
}

reference::Mask mask_of(const AttendCall& call, const AttentionSequence& s) {
  const AttendOptions& options = call.options;
  const AttentionMask& mask = options.mask;
  reference::Mask read{.order = mask.order == AttentionOrder::causal
                                    ? reference::Order::causal
                                    : reference::Order::bidirectional,
                       .left = mask.left,
                       .right = mask.right,
                       .sinks = mask.sinks};
  if (!options.additive_mask && !options.boolean_mask) return read;
  const std::int64_t rows = call.q.extents.heads * s.queries;
  for (std::int64_t i = 0; i < rows * s.keys; ++i) {
    const HeadIndex query{.batch = s.batch,
                          .token = s.first_query + i / s.keys % s.queries,
                          .head = i / s.keys / s.queries};
    const std::int64_t column = s.first_key + i % s.keys;
    read.pairs.push_back(leaves(options, query, column) ? 1 : 0);
    read.numbers.push_back(number_at(options, query, column));
  }
  return read;
}

reference::Attention attention_of(const AttendCall& call, const AttentionSequence& s,
                                  const reference::AttentionEncoding& definition) {
  const AttendOptions& options = call.options;
  reference::Attention attention{
      .scale = options.scale,
      .softcap = options.softcap,
      .mask = mask_of(call, s),
      .encoding = {.rotary = definition.rotary,
                   .bias = definition.bias,
                   .shaw_keys = vectors_of(options.encoding.shaw_keys),
                   .shaw_values = vectors_of(options.encoding.shaw_values)},
      .query_positions = positions_from(s.query_position, s.queries),
      .key_positions = positions_from(s.key_position, s.keys)};
  if (call.map) {
    attention.encoding.rotary =
        reference::Rotary{.window = call.frequencies->window,
                          .inv_freq = call.frequencies->inv_freq,
                          .attention_factor = call.frequencies->attention_factor};
  }
  if (!std::holds_alternative<NoTemperature>(options.q_temperature)) {
    for (const std::int64_t position : attention.query_positions)
      attention.query_factors.push_back(query_factor(options.q_temperature, position));
  }
  return attention;
}

// Rotates token t by row `first` + t.
void turn(reference::Heads& heads, const Rotations& rotations, std::int64_t batch,
          std::int64_t first) {
  const Extents& n = heads.extents;
  for (std::int64_t t = 0; t < n.tokens; ++t) {
    const auto angles = row_at(rotations, batch, first + t);
    for (std::int64_t head = 0; head < n.heads; ++head) {
      double* const from = heads.values.data() + reference::offset_of(n, 0, t, head);
      const std::vector<long double> x(from, from + n.features);
      const auto turned = reference::rotate_by_elements(x, rotations.window(), {.angles = angles});
      std::ranges::transform(turned, from, [](long double y) { return static_cast<double>(y); });
    }
  }
}

double largest(const std::vector<std::int64_t>& positions) {
  double most = 0;
  for (const std::int64_t position : positions)
    most = std::max(most, std::abs(static_cast<double>(position)));
  return most;
}

// One sequence, and the values that its rows share.
class SequenceRows {
 public:
  SequenceRows(const AttendCall& call, const Placed& placed,
               const reference::AttentionEncoding& definition)
      : call_(call),
        s_(placed.sequence),
        inputs_(inputs_of(call, placed)),
        attention_(attention_of(call, s_, definition)),
        case_(reference::case_of(inputs_, attention_)) {
    const AttentionEncoding& encoding = call.options.encoding;
    if (!attention_.encoding.rotary) {
      turn_by_rows(placed);
    } else if (!call.map) {
      if (encoding.q_rotations == nullptr) case_.turned_q = case_.q;
      if (encoding.k_rotations == nullptr) case_.turned_k = inputs_.k;
    }
    row_ = {.head_dim = call.q.extents.features,
            .rotation = rotation_errors(),
            .softcap = call.options.softcap.value_or(0),
            .quantized = call.in_int8};
    if (!attention_.encoding.bias) fill_bias_of_call();
  }
  SequenceRows(const SequenceRows&) = delete;
  SequenceRows& operator=(const SequenceRows&) = delete;

  [[nodiscard]] const std::string& fault() const { return fault_; }

  void visit(const std::function<void(const CheckedRow&)>& use) const {
    reference::for_each_query(case_, [&](const QueryIndex& at) {
      const ExactRow exact =
          exact_row(case_, at, row_, [&](std::int64_t key) { return score_of(at, key); });
      const HeadIndex place{s_.batch, s_.first_query + at.query, at.head};
      use({.place = place,
           .exact = exact,
           .computed = computed_at(place),
           .parts = parts(),
           .is_bounded = exact.has_bounded_scores() && is_near(at, exact)});
    });
  }

 private:
  void turn_by_rows(const Placed& placed) {
    const AttentionEncoding& encoding = call_.options.encoding;
    if (encoding.q_rotations != nullptr)
      turn(case_.turned_q, *encoding.q_rotations, s_.batch, s_.first_query);
    if (encoding.k_rotations != nullptr) {
      turn(case_.turned_k, *encoding.k_rotations, call_.table ? placed.index : s_.batch,
           s_.first_key);
    }
  }

  // The sum of the bounds for q and k. The caller's own rows have no error from positions.
  [[nodiscard]] double rotation_errors() const {
    const auto error = [](double factor, double position) {
      return rotate_error_bound(Direction::forward, factor, position);
    };
    const double of_queries = largest(case_.query_positions);
    const double of_keys = largest(case_.key_positions);
    const auto& rotary = attention_.encoding.rotary;
    if (call_.map) {
      const double reach = map_reach * std::min<double>(std::max(of_queries, of_keys), farthest);
      return 2 * error(rotary->attention_factor, reach);
    }
    const AttentionEncoding& encoding = call_.options.encoding;
    const auto error_of = [&](const Rotations* rows, double position) {
      if (rows == nullptr) return 0.0;
      return rotary ? error(rotary->attention_factor, position) : error(1, 0);
    };
    return error_of(encoding.q_rotations, of_queries) + error_of(encoding.k_rotations, of_keys);
  }

  void fill_bias_of_call() {
    const RelativeBias* const bias = call_.options.encoding.bias;
    if (bias == nullptr) return;
    const ScoresExtents n{
        .batch = 1, .heads = call_.q.extents.heads, .queries = s_.queries, .keys = s_.keys};
    bias_.resize(size_of(n.heads * n.queries * n.keys));
    const auto status =
        fill_bias({bias_.data(), DType::f64, n, strides_bhqk(n)}, *bias,
                  BiasRange{.first_query = s_.query_position, .first_key = s_.key_position});
    if (!status) fault_ = "a bias must be filled, got " + status.error().message;
  }

  [[nodiscard]] KeyScore score_of(const QueryIndex& at, std::int64_t key) const {
    if (call_.map) return {.score = reference::mapped_score(case_, *call_.map, at, key)};
    const double score = reference::score_of(case_, at, key);
    const BiasIndex pair = reference::positions_of_pair(case_, at, key);
    if (const auto& bias = attention_.encoding.bias) return {score, bias_size(*bias, pair)};
    if (bias_.empty()) return {.score = score};
    const double number = bias_[reference::pair_offset(case_, at, key)];
    if (number == -std::numeric_limits<double>::infinity()) return {.score = number};
    const RelativeBias& bias = *call_.options.encoding.bias;
    const bool is_read = std::holds_alternative<T5Bias>(bias);
    return {score + number, is_read ? std::abs(number) : bias_size(bias, pair)};
  }

  [[nodiscard]] bool is_near(const QueryIndex& at, const ExactRow& exact) const {
    const auto near = [](std::int64_t position) { return std::abs(position) <= farthest; };
    return !call_.map || (near(case_.query_positions[size_of(at.query)]) &&
                          std::ranges::all_of(exact.keys(), [&](const SeenKey& seen) {
                            return near(case_.key_positions[size_of(seen.key)]);
                          }));
  }

  // The most attentions that are merged: with ClippedAngle, one for each pair and one more; else 3.
  [[nodiscard]] std::optional<std::int64_t> parts() const {
    if (!call_.map) return {};
    const bool clips = std::holds_alternative<ClippedAngle>(*call_.map);
    return clips ? call_.frequencies->window.pairs() + 1 : 3;
  }

  [[nodiscard]] ComputedRow computed_at(const HeadIndex& place) const {
    const auto& [sum, weights] = std::tie(call_.options.log_sum_exp, call_.options.weights);
    ComputedRow row{
        .dtype = call_.out.dtype, .out = head_at(call_.out, place), .first_column = s_.first_key};
    if (sum) row.log_sum_exp = reference::element(as_heads(*sum), place, 0);
    if (weights) row.weights = head_at(as_heads(*weights), place);
    return row;
  }

  const AttendCall& call_;
  AttentionSequence s_;
  reference::AttentionInputs inputs_;
  reference::Attention attention_;
  reference::AttentionCase case_;
  AttendedRow row_;
  std::vector<double> bias_;  // [heads][queries][keys]; empty: no bias, or `definition` has it
  std::string fault_;
};

}  // namespace

void for_each_row(const AttendCall& call, const reference::AttentionEncoding& definition,
                  const std::function<void(const CheckedRow&)>& use) {
  std::int64_t index = 0;
  for (const AttentionSequence& s : call.sequences())
    SequenceRows(call, {s, index++}, definition).visit(use);
}

Verdict verdict(const AttendCall& call, const reference::AttentionEncoding& definition) {
  Verdict all;
  const auto judge = [&](const CheckedRow& row) {
    if (!row.is_bounded || !row.exact.has_bounded_values()) ++all.rows_beyond;
    if (!row.is_bounded || !all.fault.empty()) return;
    all.fault = row.exact.fault(row.computed, row.parts);
    if (all.fault.empty()) return;
    const auto& [batch, query, head] = row.place;
    all.fault = "batch " + std::to_string(batch) + ", query " + std::to_string(query) + ", head " +
                std::to_string(head) + ", " + all.fault;
  };
  const auto add = [&](const Placed& placed) {
    const SequenceRows rows(call, placed, definition);
    if (all.fault.empty()) all.fault = rows.fault();
    rows.visit(judge);
  };
  const Extents& q = call.q.extents;
  const auto add_gap = [&](std::int64_t batch, std::int64_t begin, std::int64_t end) {
    add({{.batch = batch, .first_query = begin, .queries = end - begin}});
  };
  const auto end_of = [](const AttentionSequence& s) { return s.first_query + s.queries; };
  Placed last;
  std::int64_t index = 0;
  for (const AttentionSequence& s : call.sequences()) {
    const Placed placed{s, index++};
    const std::string wrong = misplaced(call, placed, last);
    if (!wrong.empty()) return {.fault = wrong};
    for (; last.sequence.batch < s.batch; last.sequence = {.batch = last.sequence.batch + 1})
      add_gap(last.sequence.batch, end_of(last.sequence), q.tokens);
    add_gap(s.batch, end_of(last.sequence), s.first_query);
    add(placed);
    last = placed;
  }
  for (; last.sequence.batch < q.batch; last.sequence = {.batch = last.sequence.batch + 1})
    add_gap(last.sequence.batch, end_of(last.sequence), q.tokens);
  return all;
}

}  // namespace rotary::check
