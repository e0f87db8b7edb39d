// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/measure.hpp"

#include <algorithm>
#include <numeric>

#include "cli/plot/makers.hpp"

namespace rotary::cli::claims {

RotarySpec rope(std::int64_t head_dim, double base) {
  return {.head_dim = head_dim, .base = base, .pairing = Pairing::half};
}

Rotations rows_at(const Frequencies& frequencies, const Positions& positions) {
  return value_or_fail(make_rotations(frequencies, positions, {.rows = RowDType::f64}));
}

Rotations rows_at(const Frequencies& frequencies, std::int64_t position) {
  return rows_at(frequencies, ConsecutivePositions{.first = position, .tokens = 1});
}

std::vector<double> scores_at(std::int64_t distance, const Frequencies& frequencies,
                              const std::vector<double>& q, const std::vector<double>& k) {
  const auto head_dim = static_cast<std::size_t>(frequencies.window.head_dim);
  const std::vector<double> turned = rotated(q, rows_at(frequencies, distance));
  std::vector<double> scores;
  scores.reserve(q.size() / head_dim);
  for (std::size_t first = 0; first < q.size(); first += head_dim) {
    scores.push_back(
        dot(std::span(turned).subspan(first, head_dim), std::span(k).subspan(first, head_dim)));
  }
  return scores;
}

std::vector<float> identity(std::int64_t tokens) {
  const auto size = static_cast<std::size_t>(tokens);
  std::vector<float> v(size * size);
  for (std::size_t i = 0; i < size; ++i) v[i * size + i] = 1;
  return v;
}

std::vector<double> similarity(const Frequencies& frequencies, std::int64_t distances) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(distances));
  std::iota(all.begin(), all.end(), 0);
  return plot::aligned_similarity(frequencies, all);
}

double largest_rise(std::span<const double> curve) {
  double least = curve.front();
  double rise = 0;
  for (const double value : curve) {
    least = std::min(least, value);
    rise = std::max(rise, value - least);
  }
  return rise;
}

std::int64_t first_negative(std::span<const double> curve) {
  return std::ranges::find_if(curve, [](double value) { return value < 0; }) - curve.begin();
}

}  // namespace rotary::cli::claims
