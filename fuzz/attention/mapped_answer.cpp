// SPDX-License-Identifier: Apache-2.0
// attend_mapped() by the definition of each map: the angle of every pair of features of every query
// with every key.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <variant>

#include "fuzz/attention/head_values.hpp"
#include "fuzz/attention/mapped_case.hpp"
#include "fuzz/attention/softmax_row.hpp"
#include "fuzz/check.hpp"
#include "fuzz/elements.hpp"
#include "reference/position_maps.hpp"

namespace rotary::fuzz {
namespace {

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

// Positions farther out have angles that are not known well enough to be compared.
constexpr std::int64_t farthest = std::int64_t{1} << 24;

class MappedRows {
 public:
  MappedRows(const MappedCase& of, const AttentionSequence& sequence) : of_(of), s_(sequence) {
    for (std::int64_t key = 0; key < s_.keys; ++key) {
      for (std::int64_t head = 0; head < of.k.extents.heads; ++head) {
        const HeadPlace place{s_.batch, s_.first_key + key, head};
        keys_.push_back(head_values(of.k, place));
        values_.push_back(head_values(of.v, place));
      }
    }
  }

  void check_row(std::int64_t query, std::int64_t head) {
    const std::int64_t token = s_.first_query + query;
    const std::int64_t i = s_.query_position + query;
    const double factor = of_.options.scale * factor_of(i);
    const std::vector<double> q = head_values(of_.q, {s_.batch, token, head});
    const double a = std::max(1.0, of_.frequencies.attention_factor);
    const double q_norm = std::abs(factor) * a * norm(q);
    row_.begin(of_.q.extents.features, rotation_errors(), size(of_.v.extents.features));
    bool is_near = std::abs(i) <= farthest;
    for (std::int64_t key = 0; key < s_.keys; ++key) {
      const std::int64_t j = s_.key_position + key;
      if (j > i || i - j > of_.options.left.value_or(i - j)) continue;
      is_near = is_near && std::abs(j) <= farthest;
      const std::int64_t kv_heads = of_.k.extents.heads;
      const std::size_t at = size(key * kv_heads + head / (of_.q.extents.heads / kv_heads));
      const std::vector<double>& k = keys_[at];
      row_.add({.column = s_.first_key + key,
                .score = factor * product(q, k, i, j),
                .size = q_norm * a * norm(k),
                .largest_factor = std::max(q_norm, a * norm(k))},
               values_[at], {});
    }
    if (is_near) check_computed(token, head);
  }

 private:
  [[nodiscard]] double factor_of(std::int64_t position) const {
    const QueryTemperature& temperature = of_.options.q_temperature;
    if (std::holds_alternative<NoTemperature>(temperature)) return 1;
    return query_factor(temperature, position);
  }

  // Rows are made for positions up to these, moved by as much as a map moves them.
  [[nodiscard]] double rotation_errors() const {
    return 2 *
           rotate_error_bound(Direction::forward, of_.frequencies.attention_factor, 64 * farthest);
  }

  // q conj(k) e^iφ of each pair, and what does not turn.
  [[nodiscard]] double product(const std::vector<double>& q, const std::vector<double>& k,
                               std::int64_t i, std::int64_t j) const {
    const Frequencies& frequencies = of_.frequencies;
    const double a = frequencies.attention_factor;
    double sum = 0;
    for (std::int64_t pair = 0; pair < frequencies.window.pairs(); ++pair) {
      const PairFeatures at = features_of(frequencies.window, Direction::forward, pair);
      const double inv_freq = frequencies.inv_freq[size(pair)];
      const auto angle = static_cast<double>(
          std::remainder(reference::mapped_distance(of_.options.map, i, j, inv_freq) * inv_freq,
                         2 * std::numbers::pi_v<long double>));
      const std::complex<double> x(q[size(at.read_x)], q[size(at.read_y)]);
      const std::complex<double> y(k[size(at.read_x)], k[size(at.read_y)]);
      sum += a * a * (x * std::conj(y) * std::polar(1.0, angle)).real();
    }
    const std::size_t begin = size(frequencies.window.first_feature);
    const std::size_t end = begin + size(frequencies.window.rotary_dim);
    for (std::size_t f = 0; f < q.size(); ++f) {
      if (f < begin || f >= end) sum += q[f] * k[f];
    }
    return sum;
  }

  void check_computed(std::int64_t token, std::int64_t head) {
    const std::vector<double> out = head_values(of_.out, {s_.batch, token, head});
    ComputedRow computed{.dtype = of_.out.dtype, .out = out};
    if (of_.options.log_sum_exp) {
      const ScoresView& view = *of_.options.log_sum_exp;
      const ScoresStrides& s = view.strides;
      computed.log_sum_exp = static_cast<const float*>(
          view.data)[s_.batch * s.batch + head * s.head + token * s.query];
    }
    const bool clips = std::holds_alternative<ClippedAngle>(of_.options.map);
    const std::int64_t parts = clips ? of_.frequencies.window.pairs() + 1 : 3;
    const RowBounds bounds{
        .out = [=](const AttendedRow& row) { return attend_mapped_error_bound(row, parts); },
        .log_sum_exp = attend_mapped_log_sum_exp_error_bound};
    row_.check(computed, bounds);
  }

  const MappedCase& of_;
  AttentionSequence s_;
  std::vector<std::vector<double>> keys_;    // [keys][kv heads]
  std::vector<std::vector<double>> values_;  // [keys][kv heads]
  SoftmaxRow row_;
};

void check_all(const MappedCase& of, const AttentionSequence& sequence) {
  MappedRows rows(of, sequence);
  for (std::int64_t query = 0; query < sequence.queries; ++query) {
    for (std::int64_t head = 0; head < of.q.extents.heads; ++head) rows.check_row(query, head);
  }
}

}  // namespace

void check_mapped(const MappedCase& of) {
  const std::int64_t queries = of.q.extents.tokens;
  const std::int64_t keys = of.k.extents.tokens;
  if (of.sequences.empty()) {
    for (std::int64_t batch = 0; batch < of.q.extents.batch; ++batch) {
      check_all(
          of, {.batch = batch, .queries = queries, .keys = keys, .query_position = keys - queries});
    }
    return;
  }
  for (const AttentionSequence& s : of.sequences) {
    if (s.batch < 0 || s.batch >= of.q.extents.batch || s.first_query < 0 || s.queries < 0 ||
        s.first_query + s.queries > queries || s.first_key < 0 || s.first_key + s.keys > keys)
      fail("queries and keys of a sequence must be tokens");
    check_all(of, s);
  }
}

}  // namespace rotary::fuzz
