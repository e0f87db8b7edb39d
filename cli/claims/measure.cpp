// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/measure.hpp"

#include <algorithm>
#include <numeric>

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

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::size_t changed(std::span<const double> before, std::span<const double> after) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) count += before[i] == after[i] ? 0 : 1;
  return count;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
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

std::vector<double> similarity(const Frequencies& frequencies, std::int64_t distances) {
  constexpr std::int64_t at_once = 1024;  // rows of 64 pairs: 1 MiB
  std::vector<double> curve;
  curve.reserve(static_cast<std::size_t>(distances));
  for (std::int64_t first = 0; first < distances; first += at_once) {
    const std::int64_t tokens = std::min(at_once, distances - first);
    const Rotations rows =
        rows_at(frequencies, ConsecutivePositions{.first = first, .tokens = tokens});
    for (std::int64_t t = 0; t < tokens; ++t) curve.push_back(mean(rows.cos<double>(0, t)));
  }
  return curve;
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
