// SPDX-License-Identifier: Apache-2.0
#include "attention/score_bias.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

namespace rotary {
namespace {

using relative::PairOfPositions;

// Beyond what a score can be beside it in float32 a bias counts as this much.
constexpr double largest_bias = 0x1p126;

float in_log2(double bias) {
  const double scaled = bias * std::numbers::log2e;
  return static_cast<float>(std::isinf(bias) ? bias
                                             : std::clamp(scaled, -largest_bias, largest_bias));
}

std::int64_t saturation_of(const RelativeBias& bias) noexcept {
  const auto* t5 = std::get_if<T5Bias>(&bias);
  return t5 == nullptr ? std::numeric_limits<std::int64_t>::max() : t5->buckets.max_distance;
}

double distance_of(const AlibiScores& scores, const PairOfPositions& pair) noexcept {
  return scores.alibi.form == AlibiForm::symmetric ? -pair.distance()
                                                   : static_cast<double>(pair.relative());
}

// [heads][stride] numbers of pairs (query, key), (query, key + 1), ...
struct Filled {
  float* numbers;
  std::int64_t stride;
  std::int64_t first_head;
  std::int64_t heads;
  PairOfPositions first;
  std::int64_t count;
};

template <class Evaluator>
void fill_numbers(const Filled& of, const Evaluator& evaluator) noexcept {
  for (std::int64_t i = 0; i < of.count; ++i) {
    const double term = evaluator.shared_term({.query = of.first.query, .key = of.first.key + i});
    for (std::int64_t head = 0; head < of.heads; ++head)
      of.numbers[head * of.stride + i] = in_log2(evaluator.value(of.first_head + head, term));
  }
}

void fill_numbers(const Filled& of, const AlibiScores& scores) noexcept {
  for (std::int64_t head = 0; head < of.heads; ++head) {
    const double slope = relative::alibi_slope(scores.alibi, of.first_head + head);
    for (std::int64_t i = 0; i < of.count; ++i) {
      of.numbers[head * of.stride + i] =
          in_log2(slope * distance_of(scores, {of.first.query, of.first.key + i}));
    }
  }
}

}  // namespace

ScoreBias::ScoreBias(const RelativeBias& bias)
    : evaluator_(std::visit(
          []<class Encoding>(const Encoding& encoding) -> BiasEvaluator {
            if constexpr (std::is_same_v<Encoding, Alibi>)
              return AlibiScores{encoding};
            else
              return relative::evaluator(encoding);
          },
          bias)),
      saturation_(saturation_of(bias)) {}

bool ScoreBias::is_of_distances() const noexcept {
  return !std::holds_alternative<relative::FireEvaluator>(evaluator_);
}

Distances ScoreBias::distinct(Distances range) const noexcept {
  if (saturation_ == std::numeric_limits<std::int64_t>::max()) return range;
  const std::int64_t first = std::clamp(range.first, -saturation_, saturation_);
  return {.first = first,
          .last = std::max(first, std::clamp(range.last, -saturation_, saturation_))};
}

void ScoreBias::fill(const DistanceTables& tables) const noexcept {
  const std::int64_t count = tables.range.count();
  const Filled of{.numbers = tables.tables + tables.margin,
                  .stride = tables.stride,
                  .first_head = tables.first_head,
                  .heads = tables.heads,
                  .first = {.query = 0, .key = tables.range.first},
                  .count = count};
  std::visit([&](const auto& evaluator) { fill_numbers(of, evaluator); }, evaluator_);
  for (std::int64_t head = 0; head < tables.heads; ++head) {
    float* const table = tables.tables + head * tables.stride;
    std::fill_n(table, tables.margin, table[tables.margin]);
    std::fill_n(table + tables.margin + count, tables.margin, table[tables.margin + count - 1]);
  }
}

void ScoreBias::fill(const RowTables& tables) const noexcept {
  const Filled of{.numbers = tables.values,
                  .stride = tables.stride,
                  .first_head = tables.first_head,
                  .heads = tables.heads,
                  .first = {.query = tables.query, .key = tables.first_key},
                  .count = tables.keys};
  std::visit([&](const auto& evaluator) { fill_numbers(of, evaluator); }, evaluator_);
}

double ScoreBias::row_constant(std::int64_t head, std::int64_t query) const noexcept {
  const auto* alibi = std::get_if<AlibiScores>(&evaluator_);
  if (alibi == nullptr || alibi->alibi.form != AlibiForm::key_position) return 0;
  return relative::alibi_slope(alibi->alibi, head) * static_cast<double>(query);
}

}  // namespace rotary
