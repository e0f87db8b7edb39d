// SPDX-License-Identifier: Apache-2.0
#include "attention/attend/bias/score_bias.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

namespace rotary {
namespace {

using relative::PairOfPositions;

float in_log2(double bias) {
  constexpr double largest = kernels::largest_bias;
  const double scaled = bias * std::numbers::log2e;
  return static_cast<float>(std::isinf(bias) ? bias : std::clamp(scaled, -largest, largest));
}

std::int64_t saturation_of(const RelativeBias& bias) noexcept {
  const auto* t5 = std::get_if<T5Bias>(&bias);
  return t5 == nullptr ? std::numeric_limits<std::int64_t>::max() : t5->buckets.max_distance;
}

double distance_of(const AlibiScores& scores, const PairOfPositions& pair) noexcept {
  return scores.alibi.form == AlibiForm::symmetric ? -pair.distance()
                                                   : static_cast<double>(pair.relative());
}

PairOfPositions pair_at(std::int64_t distance) noexcept { return {.query = 0, .key = distance}; }

using relative::FormulaEvaluator;
using relative::SandwichEvaluator;

template <class Evaluator>
void fill_numbers(const DistanceTables& to, const Evaluator& evaluator,
                  const kernels::BiasKernels& /*kernels*/) noexcept {
  for (std::int64_t i = 0; i < to.range.count(); ++i) {
    const double term =
        to.terms == nullptr ? evaluator.shared_term(pair_at(to.range.first + i)) : to.terms[i];
    for (std::int64_t head = 0; head < to.heads; ++head) {
      to.tables[head * to.stride + to.margin + i] =
          in_log2(evaluator.value(to.first_head + head, term));
    }
  }
}

void fill_numbers(const DistanceTables& to, const AlibiScores& scores,
                  const kernels::BiasKernels& /*kernels*/) noexcept {
  for (std::int64_t head = 0; head < to.heads; ++head) {
    const double slope = relative::alibi_slope(scores.alibi, to.first_head + head);
    for (std::int64_t i = 0; i < to.range.count(); ++i) {
      to.tables[head * to.stride + to.margin + i] =
          in_log2(slope * distance_of(scores, pair_at(to.range.first + i)));
    }
  }
}

// Sandwich: the slope of the head times the term that all heads share.
void fill_numbers(const DistanceTables& to, const SandwichEvaluator& evaluator,
                  const kernels::BiasKernels& kernels) noexcept {
  for (std::int64_t head = 0; head < to.heads; ++head) {
    const kernels::StraightPiece piece{
        .slope = evaluator.value(to.first_head + head, 1) * std::numbers::log2e,
        .offset = 0,
        .end = to.range.count()};
    kernels.fill_pieces({.terms = to.terms,
                         .pieces = &piece,
                         .count = 1,
                         .values = to.tables + head * to.stride + to.margin});
  }
}

void fill_formula(const DistanceTables& to, kernels::FillFormula fill,
                  std::span<const double> inner, std::span<const double> factors) noexcept {
  for (std::int64_t head = 0; head < to.heads; ++head) {
    const auto of_head = static_cast<std::size_t>(to.first_head + head);
    fill({.first = to.range.first,
          .count = to.range.count(),
          .factor = -factors[of_head] * std::numbers::log2e,
          .inner = inner[of_head],
          .values = to.tables + head * to.stride + to.margin});
  }
}

void fill_numbers(const DistanceTables& to, const FormulaEvaluator<KerpleLog>& evaluator,
                  const kernels::BiasKernels& kernels) noexcept {
  fill_formula(to, kernels.fill_logarithms, evaluator.bias().a, evaluator.bias().p);
}

void fill_numbers(const DistanceTables& to, const FormulaEvaluator<KerplePower>& evaluator,
                  const kernels::BiasKernels& kernels) noexcept {
  fill_formula(to, kernels.fill_powers, evaluator.bias().p, evaluator.bias().a);
}

// FIRE is filled row by row instead (fire_rows.hpp).
void fill_numbers(const DistanceTables&, const relative::FireEvaluator&,
                  const kernels::BiasKernels&) noexcept {}

template <class Evaluator>
double term_of(const Evaluator& evaluator, const PairOfPositions& pair) noexcept {
  return evaluator.shared_term(pair);
}

double term_of(const AlibiScores& scores, const PairOfPositions& pair) noexcept {
  return distance_of(scores, pair);
}

// FIRE's x before the division by the query's divisor.
double term_of(const relative::FireEvaluator& evaluator, const PairOfPositions& pair) noexcept {
  return evaluator.numerator(pair.distance());
}

template <class Evaluator>
void fill_terms_of(const Evaluator& evaluator, std::int64_t first,
                   std::span<double> terms) noexcept {
  for (std::size_t i = 0; i < terms.size(); ++i)
    terms[i] = term_of(evaluator, pair_at(first + static_cast<std::int64_t>(i)));
}

void fill_terms_of(const SandwichEvaluator& evaluator, std::int64_t first,
                   std::span<double> terms) noexcept {
  evaluator.fill_terms(first, terms);
}

}  // namespace

ScoreBias::ScoreBias(const RelativeBias& bias)
    : evaluator_(std::visit(
          [](const auto& encoding) -> BiasEvaluator { return score_evaluator(encoding); }, bias)),
      saturation_(saturation_of(bias)) {}

const relative::FireEvaluator* ScoreBias::fire() const noexcept {
  return std::get_if<relative::FireEvaluator>(&evaluator_);
}

bool ScoreBias::keeps_terms() const noexcept {
  return fire() != nullptr || std::holds_alternative<SandwichEvaluator>(evaluator_);
}

Distances ScoreBias::distinct(Distances range) const noexcept {
  if (saturation_ == std::numeric_limits<std::int64_t>::max()) return range;
  const std::int64_t first = std::clamp(range.first, -saturation_, saturation_);
  return {.first = first,
          .last = std::max(first, std::clamp(range.last, -saturation_, saturation_))};
}

void ScoreBias::fill_terms(Distances range, double* terms) const noexcept {
  std::visit(
      [&](const auto& evaluator) {
        const std::span<double> to(terms, static_cast<std::size_t>(range.count()));
        fill_terms_of(evaluator, range.first, to);
      },
      evaluator_);
}

void ScoreBias::fill(const DistanceTables& tables,
                     const kernels::BiasKernels& kernels) const noexcept {
  const std::int64_t count = tables.range.count();
  std::visit([&](const auto& evaluator) { fill_numbers(tables, evaluator, kernels); }, evaluator_);
  for (std::int64_t head = 0; head < tables.heads; ++head) {
    float* const table = tables.tables + head * tables.stride;
    std::fill_n(table, tables.margin, table[tables.margin]);
    std::fill_n(table + tables.margin + count, tables.margin, table[tables.margin + count - 1]);
  }
}

double ScoreBias::row_constant(std::int64_t head, std::int64_t query) const noexcept {
  const auto* alibi = std::get_if<AlibiScores>(&evaluator_);
  if (alibi == nullptr || alibi->alibi.form != AlibiForm::key_position) return 0;
  return relative::alibi_slope(alibi->alibi, head) * static_cast<double>(query);
}

}  // namespace rotary
