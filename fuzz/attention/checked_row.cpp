// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/checked_row.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "fuzz/check.hpp"

namespace rotary::fuzz {
namespace {

double score_at(const ScoresView& view, const HeadPlace& at, std::int64_t key) {
  const ScoresStrides& s = view.strides;
  return static_cast<const float*>(
      view.data)[at.batch * s.batch + at.head * s.head + at.token * s.query + key * s.key];
}

}  // namespace

std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < count; ++i) positions.push_back(first + i);
  return positions;
}

std::vector<double> factors_of(const QueryTemperature& temperature,
                               const AttentionSequence& sequence) {
  std::vector<double> factors;
  if (std::holds_alternative<NoTemperature>(temperature)) return factors;
  for (std::int64_t query = 0; query < sequence.queries; ++query)
    factors.push_back(query_factor(temperature, sequence.query_position + query));
  return factors;
}

void turn(reference::Heads& heads, const Rotations& rotations, std::int64_t batch,
          std::int64_t first) {
  const Extents& n = heads.extents;
  for (std::int64_t i = 0; i < n.tokens * n.heads; ++i) {
    turn(std::span(heads.values)
             .subspan(static_cast<std::size_t>(i * n.features),
                      static_cast<std::size_t>(n.features)),
         rotations, rotations.batch() == 1 ? 0 : batch, first + i / n.heads);
  }
}

ReadRow read_row(const HeadsView& out, const HeadPlace& at,
                 const std::optional<ScoresView>& log_sum_exp,
                 const std::optional<ScoresView>& weights) {
  ReadRow row{.dtype = out.dtype, .out = head_values(out, at)};
  if (log_sum_exp) row.log_sum_exp = score_at(*log_sum_exp, at, 0);
  for (std::int64_t key = 0; weights && key < weights->extents.keys; ++key)
    row.weights.push_back(score_at(*weights, at, key));
  return row;
}

void check_row_of(const test::ExactRow& exact, const ReadRow& computed, std::int64_t first_key,
                  const test::RowBounds& bounds) {
  if (!exact.has_bounded_scores()) return;
  const std::string fault = exact.fault({.dtype = computed.dtype,
                                         .out = computed.out,
                                         .log_sum_exp = computed.log_sum_exp,
                                         .weights = computed.weights,
                                         .first_column = first_key},
                                        bounds);
  if (!fault.empty()) fail("a row must be within the bounds", fault);
}

}  // namespace rotary::fuzz
