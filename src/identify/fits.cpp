// SPDX-License-Identifier: Apache-2.0
// Numbers that are measured rather than looked up.
#include <algorithm>
#include <cmath>

#include "base/extremes.hpp"
#include "identify/search.hpp"
#include "identify/structure.hpp"

namespace rotary::identification {
namespace {

// With what norms show in place of what was configured.
Operation with_structure(const Start& start, Operation operation) {
  const FoundStructure& structure = start.structure;
  if (start.sample.observed == Observed::heads) {
    operation.spec.rotary_dim = structure.window.rotary_dim;
    operation.spec.first_feature = structure.window.first_feature;
    operation.spec.pairing = structure.window.pairing;
    operation.spec.blocks = structure.window.blocks;
  }
  operation.attention_factor = structure.attention_factor;
  return operation;
}

class BaseFit {
 public:
  BaseFit(const Start& start, const Operation& operation)
      : start_(start), operation_(with_structure(start, operation)) {}

  // Exact as far as `enough`.
  double residual(double base, double enough = 2) {
    operation_.spec.base = base;
    const auto turning = turning_of(operation_, start_.context_tokens);
    if (!turning) return 2;
    const double norm = start_.sample.norm;
    const double error =
        squared_error({operation_, *turning}, start_.sample, enough * enough * norm * norm);
    return std::sqrt(error) / norm;
  }

  // The best of `count` bases, evenly spread over ln(middle) ± width.
  double best_around(double middle, double width, int count) {
    double best = middle;
    double least = residual(middle);
    for (int i = 0; i <= count; ++i) {
      const double base = middle * std::exp(width * (2.0 * i / count - 1));
      const double here = residual(base, least);
      if (here >= least) continue;
      least = here;
      best = base;
    }
    return best;
  }

 private:
  const Start& start_;
  Operation operation_;
};

double farthest_position(const Sample& sample) {
  double farthest = 1;
  for (const double position : sample.positions) farthest = larger(farthest, std::abs(position));
  return farthest;
}

}  // namespace

std::optional<double> fitted_base(const Start& start, const Operation& operation) {
  auto turns = measured_turns(start.sample, start.structure.window);
  // Without what the rule makes of fast pairs.
  const std::vector<double>& scaled = start.turning.inv_freq;
  for (std::size_t i = 0; i < turns.size() && turns.size() == scaled.size(); ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(turns.size());
    if (scaled[i] != 0) turns[i] *= std::pow(start.operation.spec.base, -place) / scaled[i];
  }
  const auto rough = base_of_turns(turns, smallest_turn(start.sample));
  if (!rough) return std::nullopt;
  BaseFit fit(start, operation);
  // An angle at position p changes by up to p / 7 for ln(base) + 1.
  double width = 0.03;
  const int count =
      static_cast<int>(std::clamp(farthest_position(start.sample) * width, 64., 2048.));
  double base = fit.best_around(*rough, width, count);
  width *= 4.0 / count;
  while (width > 1e-9) {
    base = fit.best_around(base, width, 8);
    width /= 4;
  }
  const double least = fit.residual(base);
  const double limit = 1.01 * least;
  for (int digits = 1; digits <= 8; ++digits) {
    const double rounded = with_few_digits(base, std::pow(10.0, -digits) / 2);
    if (rounded > 1 && fit.residual(rounded) <= limit) return rounded;
  }
  return base;
}

std::optional<double> fitted_stretch(const Start& start) {
  const auto turns = measured_turns(start.sample, start.structure.window);
  if (turns.size() != start.turning.inv_freq.size()) return std::nullopt;
  const double smallest = smallest_turn(start.sample);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (std::abs(turns[i]) > smallest && std::abs(start.turning.inv_freq[i]) > 0)
      ratios.push_back(turns[i] / start.turning.inv_freq[i]);
  }
  if (ratios.size() < 3) return std::nullopt;
  std::ranges::sort(ratios);
  const double median = ratios[ratios.size() / 2];
  const double spread = larger(std::abs(ratios.front() - median), std::abs(ratios.back() - median));
  if (spread > 0.1 * std::abs(median) || std::abs(median - 1) < 0.01) return std::nullopt;
  return with_few_digits(median, 2e-3);
}

}  // namespace rotary::identification
