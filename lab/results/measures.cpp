// SPDX-License-Identifier: Apache-2.0
#include "lab/results/measures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>

namespace rotary::lab {
namespace {

double loss_at(const LogRow& row) { return row.validation_loss; }

// The first step at which the curve, straight between its rows, is at the loss or below; absent
// where it never is.
std::optional<double> steps_to(const std::vector<LogRow>& curve, double loss) {
  for (std::size_t n = 0; n < curve.size(); ++n) {
    if (!(loss_at(curve[n]) <= loss)) continue;
    const auto step = static_cast<double>(curve[n].step);
    if (n == 0) return step;
    const auto before = static_cast<double>(curve[n - 1].step);
    const double part =
        (loss_at(curve[n - 1]) - loss) / (loss_at(curve[n - 1]) - loss_at(curve[n]));
    return before + part * (step - before);
  }
  return std::nullopt;
}

constexpr std::string_view steps_to_prefix = "steps_to@";

std::optional<double> steps_fraction(const Results& results, const CellResult& cell,
                                     const std::string& target) {
  const ArmResult* arm = find_arm(results, target);
  const CellResult* other = arm == nullptr ? nullptr : find_cell(*arm, cell.seed);
  if (other == nullptr || other->curve.empty() || cell.curve.empty()) return std::nullopt;
  const auto steps = steps_to(cell.curve, loss_at(other->curve.back()));
  const auto all = static_cast<double>(other->curve.back().step);
  return steps.value_or(static_cast<double>(cell.curve.back().step)) / all;
}

constexpr std::string_view rates_suffix = "@rates";

// The cells of the family that this cell is of, with its seed: one for each rate. Empty where one
// is missing.
std::vector<const CellResult*> cells_at_rates(const Results& results, const CellResult& cell) {
  const auto holds = [&](const ArmResult& arm) { return find_cell(arm, cell.seed) == &cell; };
  const auto own = std::ranges::find_if(results.arms, holds);
  if (own == results.arms.end() || own->family.empty()) return {};
  std::vector<const CellResult*> cells;
  for (const ArmResult& arm : results.arms) {
    const CellResult* other = arm.family == own->family ? find_cell(arm, cell.seed) : nullptr;
    if (other != nullptr) cells.push_back(other);
  }
  const auto& arms = find_preset(*results.experiment, results.preset).arms;
  const auto rates = std::ranges::count(arms, own->family, &Arm::family);
  return std::ssize(cells) == rates ? cells : std::vector<const CellResult*>();
}

double sensitivity_of(const std::vector<const CellResult*>& cells) {
  const double most = std::log(static_cast<double>(byte_tokens));
  double best = most;
  double sum = 0;
  for (const CellResult* cell : cells) {
    const double loss = std::min(cell->outcome.validation_loss, most);
    best = std::min(best, loss);
    sum += loss;
  }
  return sum / static_cast<double>(cells.size()) - best;
}

std::optional<double> mean_over_rates(const Results& results, const CellResult& cell,
                                      const std::string& metric) {
  const std::vector<const CellResult*> cells = cells_at_rates(results, cell);
  if (cells.empty()) return std::nullopt;
  if (metric == "sensitivity") return sensitivity_of(cells);
  double sum = 0;
  for (const CellResult* each : cells) {
    const auto value = value_of(each->outcome, Measure{.encoding = {}, .metric = metric});
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(cells.size());
}

constexpr std::size_t enough_to_resample = 32;

// Whether the loss is the mean of its windows. It is not where windows have different numbers of
// targets (hidden bytes, words of sentences), and then they say little of it.
bool are_equal_parts(const LengthLoss& length) {
  if (!length.loss || length.windows.empty()) return false;
  const double sum = std::accumulate(length.windows.begin(), length.windows.end(), 0.0);
  const double mean = sum / static_cast<double>(length.windows.size());
  return std::abs(mean - *length.loss) <= 1e-6 * std::abs(mean);
}

const std::vector<double>* windows_of(const Outcome& outcome, const Measure& measure) {
  if (!measure.metric.empty() || measure.last_quarter) return nullptr;
  for (const LengthLoss& length : outcome.lengths) {
    if (length.multiple == measure.multiple && length.rule == measure.rule)
      return are_equal_parts(length) ? &length.windows : nullptr;
  }
  return nullptr;
}

// Paired over the windows of both, which are the same text.
std::optional<Interval> windows_interval(const CellResult& lower, const CellResult& higher,
                                         const Claim& claim) {
  const auto* below = windows_of(lower.outcome, claim.lower);
  const auto* above = windows_of(higher.outcome, claim.higher);
  if (below == nullptr || above == nullptr || below->size() != above->size()) return std::nullopt;
  std::vector<double> differences(below->size());
  std::ranges::transform(*above, *below, differences.begin(), std::minus<>());
  // Percentiles of so few resampled values are too near to one another.
  if (differences.size() < enough_to_resample)
    return differences.size() < least_windows ? std::nullopt : t_interval(differences);
  return bootstrap_interval(differences);
}

std::optional<Summary> summary_of_values(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return Summary{.mean = sum / static_cast<double>(values.size()),
                 .interval = t_interval(values),
                 .seeds = values.size()};
}

double mean_loss(const ArmResult& arm) {
  const auto summary = loss_summary(arm);
  return summary ? summary->mean : std::numeric_limits<double>::infinity();
}

}  // namespace

const ArmResult* find_arm(const Results& results, const std::string& name) {
  const auto exact = std::ranges::find(results.arms, name, &ArmResult::name);
  if (exact != results.arms.end()) return &*exact;
  const ArmResult* best = nullptr;
  for (const ArmResult& arm : results.arms) {
    if (arm.family != name) continue;
    if (best == nullptr || mean_loss(arm) < mean_loss(*best)) best = &arm;
  }
  return best;
}

const CellResult* find_cell(const ArmResult& arm, std::uint64_t seed) {
  const auto found = std::ranges::find(arm.cells, seed, &CellResult::seed);
  return found == arm.cells.end() ? nullptr : &*found;
}

std::optional<double> value_of(const Results& results, const CellResult& cell,
                               const Measure& measure) {
  if (measure.metric.starts_with(steps_to_prefix))
    return steps_fraction(results, cell, measure.metric.substr(steps_to_prefix.size()));
  if (measure.metric.ends_with(rates_suffix)) {
    return mean_over_rates(results, cell,
                           measure.metric.substr(0, measure.metric.size() - rates_suffix.size()));
  }
  return value_of(cell.outcome, measure);
}

std::optional<Summary> summary_of(const Results& results, const ArmResult& arm,
                                  const Measure& measure) {
  std::vector<double> values;
  for (const CellResult& cell : arm.cells) {
    if (const auto value = value_of(results, cell, measure)) values.push_back(*value);
  }
  return summary_of_values(values);
}

std::optional<Summary> loss_summary(const ArmResult& arm) {
  std::vector<double> losses;
  for (const CellResult& cell : arm.cells) {
    if (!cell.curve.empty()) losses.push_back(cell.outcome.validation_loss);
  }
  return summary_of_values(losses);
}

ClaimResult judge_claim(const Results& results, const Claim& claim) {
  ClaimResult judged{.claim = claim};
  const ArmResult* lower = find_arm(results, claim.lower.encoding);
  const ArmResult* higher = find_arm(results, claim.higher.encoding);
  if (lower == nullptr || higher == nullptr) return judged;
  judged.lower_arm = lower->name;
  judged.higher_arm = higher->name;
  std::vector<double> gaps;
  for (const CellResult& cell : lower->cells) {
    const CellResult* other = find_cell(*higher, cell.seed);
    if (other == nullptr) continue;
    const auto below = value_of(results, cell, claim.lower);
    const auto above = value_of(results, *other, claim.higher);
    if (!below || !above) continue;
    judged.gaps.push_back({.seed = cell.seed, .lower = *below, .higher = *above});
    gaps.push_back(*above - *below);
  }
  judged.interval = t_interval(gaps);
  if (gaps.size() == 1) {
    const std::uint64_t seed = judged.gaps.front().seed;
    judged.interval = windows_interval(*find_cell(*lower, seed), *find_cell(*higher, seed), claim);
    judged.over_windows = judged.interval.has_value();
  }
  judged.verdict = judge(gaps, judged.interval, claim.margin);
  return judged;
}

std::string text_of(const Measure& measure) {
  std::string text = measure.encoding;
  if (!measure.metric.empty()) text += " " + measure.metric;
  if (!measure.rule.empty()) text += " " + measure.rule;
  if (measure.multiple != 1) text += fmt::format(" {}x", measure.multiple);
  if (measure.last_quarter) text += ", last quarter";
  return text;
}

}  // namespace rotary::lab
