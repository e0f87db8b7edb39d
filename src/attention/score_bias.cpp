// SPDX-License-Identifier: Apache-2.0
#include "attention/score_bias.hpp"

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>
#include <variant>

#include "relative/evaluators.hpp"

namespace rotary {
namespace {

float in_log2(double bias) { return static_cast<float>(bias * std::numbers::log2e); }

// A distance from which on, to either side, the bias is the same.
std::int64_t saturation(const RelativeBias& bias) noexcept {
  const auto* t5 = std::get_if<T5Bias>(&bias);
  return t5 == nullptr ? std::numeric_limits<std::int64_t>::max() : t5->buckets.max_distance;
}

}  // namespace

ScoreBias score_bias(const RelativeBias& bias) {
  ScoreBias result{.bias = bias};
  auto* alibi = std::get_if<Alibi>(&result.bias);
  if (alibi == nullptr || alibi->form != AlibiForm::key_position) return result;
  if (auto slopes = alibi_slopes(*alibi)) result.row_slopes = *std::move(slopes);
  alibi->form = AlibiForm::causal;
  return result;
}

Distances distinct_distances(const RelativeBias& bias, Distances range) noexcept {
  const std::int64_t far = saturation(bias);
  if (far == std::numeric_limits<std::int64_t>::max()) return range;
  const std::int64_t first = std::clamp(range.first, -far, far);
  return {.first = first, .last = std::max(first, std::clamp(range.last, -far, far))};
}

void fill_distance_tables(const DistanceTables& tables, const RelativeBias& bias) {
  const auto fill = [&](const auto& evaluate) {
    const std::int64_t count = tables.range.count();
    for (std::int64_t i = 0; i < count; ++i) {
      const double term = evaluate.shared_term({.query = 0, .key = tables.range.first + i});
      for (std::int64_t head = 0; head < tables.heads; ++head) {
        tables.tables[head * tables.stride + tables.margin + i] =
            in_log2(evaluate.value(tables.first_head + head, term));
      }
    }
    for (std::int64_t head = 0; head < tables.heads; ++head) {
      float* const table = tables.tables + head * tables.stride;
      std::fill_n(table, tables.margin, table[tables.margin]);
      std::fill_n(table + tables.margin + count, tables.margin,
                  table[tables.margin + count - 1]);
    }
  };
  std::visit([&](const auto& encoding) { fill(relative::evaluator(encoding)); }, bias);
}

void fill_row_tables(const RowTables& tables, const RelativeBias& bias) {
  const auto fill = [&](const auto& evaluate) {
    for (std::int64_t key = 0; key < tables.keys; ++key) {
      const double term =
          evaluate.shared_term({.query = tables.query, .key = tables.first_key + key});
      for (std::int64_t head = 0; head < tables.heads; ++head) {
        tables.values[head * tables.stride + key] =
            in_log2(evaluate.value(tables.first_head + head, term));
      }
    }
  };
  std::visit([&](const auto& encoding) { fill(relative::evaluator(encoding)); }, bias);
}

}  // namespace rotary
