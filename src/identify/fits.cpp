// SPDX-License-Identifier: Apache-2.0
// Measures a base, an offset or a factor that no table of candidates contains.
#include <algorithm>
#include <cmath>

#include "base/extremes.hpp"
#include "base/message.hpp"
#include "identify/search.hpp"
#include "identify/structure.hpp"

namespace rotary::identification {
namespace {

// The operation with the window, pairing and factor that norms show, in place of the configured
// ones.
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

  // The relative error with this base. Exact up to `enough`; larger errors are only lower bounds.
  double residual(double base, double enough = 2) {
    operation_.spec.base = base;
    const auto turning = turning_of(operation_, start_.context_tokens);
    if (!turning) return 2;
    const double norm = start_.sample.norm;
    const double error =
        squared_error({operation_, *turning}, start_.sample, enough * enough * norm * norm);
    return std::sqrt(error) / norm;
  }

  // The best of `middle` and count + 1 bases, whose logarithms are evenly spaced over ln(middle) ±
  // width.
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
  // Removes the scaling rule's effect from the measured turns.
  const std::vector<double>& scaled = start.turning.inv_freq;
  for (std::size_t i = 0; i < turns.size() && turns.size() == scaled.size(); ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(turns.size());
    if (scaled[i] != 0) turns[i] *= std::pow(start.operation.spec.base, -place) / scaled[i];
  }
  const auto rough = base_of_turns(turns, smallest_turn(start.sample));
  if (!rough) return std::nullopt;
  BaseFit fit(start, operation);
  // If ln(base) grows by a small d, the angle at position p changes by at most d p / (e ln(base)).
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

std::optional<Edit> rule_of_positions(const Start& start, const std::vector<double>& positions) {
  const std::size_t tokens = start.sample.tokens;
  const std::size_t axes = positions.size() / tokens;
  std::vector<double> expected;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto of_axis = start.sample.positions_on(axis);
    expected.insert(expected.end(), of_axis.begin(), of_axis.end());
  }
  const double offset = positions.front() - expected.front();
  bool is_offset = true;
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    is_offset = is_offset && positions[i] == expected[i] + offset;
    products += positions[i] * expected[i];
    squares += expected[i] * expected[i];
  }
  if (is_offset)
    return Edit{.hypothesis = &hypothesis_named("position_offset"),
                .aspects = offset_aspect,
                .apply = [offset](Operation& changed) { changed.position_offset += offset; },
                .field = rows_field("positions", "p",
                                    message(offset < 0 ? "p - " : "p + ", std::abs(offset)))};
  if (tokens < 3 || products == 0) return std::nullopt;
  double apart = 0;
  for (std::size_t i = 0; i < positions.size(); ++i)
    apart += std::pow(positions[i] - products / squares * expected[i], 2);
  // All frequencies in float32 may be wrong by up to one rounding, and the positions with them.
  const bool are_frequencies = start.sample.observed == Observed::frequencies;
  const double spread =
      larger(std::sqrt(apart * squares) / std::abs(products), are_frequencies ? 0x1p-24 : 1e-12);
  const double factor = with_few_digits(products / squares, spread);
  const std::string one = are_frequencies ? "f" : "p";
  return Edit{
      .hypothesis = &hypothesis_named(are_frequencies ? "frequency_factor" : "position_factor"),
      .aspects = stretch_aspect,
      .apply = [factor](Operation& changed) { changed.position_factor *= factor; },
      .field =
          rows_field(are_frequencies ? "inv_freq" : "positions", one, message(factor, " ", one))};
}

}  // namespace rotary::identification
