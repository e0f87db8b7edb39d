// SPDX-License-Identifier: Apache-2.0
// Shared by the claims: random vectors from a seed, and rotations in double. The pairing is half;
// scores do not depend on the pairing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "apps/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/vectors.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli::claims {

// A seed gives the same numbers on every machine, except for the last bits of log and cos.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] double unit() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }

  // Independent, mean 0, deviation 1.
  template <class Real = double>
  [[nodiscard]] std::vector<Real> normals(std::int64_t count) {
    std::vector<Real> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); i += 2) {  // Box and Muller
      const double radius = std::sqrt(-2 * std::log(1 - unit()));
      const double angle = 6.283185307179586 * unit();
      values[i] = static_cast<Real>(radius * std::cos(angle));
      if (i + 1 < values.size()) values[i + 1] = static_cast<Real>(radius * std::sin(angle));
    }
    return values;
  }

 private:
  std::mt19937_64 engine_;
};

inline constexpr double usual_base = 10000;
inline constexpr std::int64_t usual_head_dim = 128;  // Llama, Mistral, Qwen and many others

[[nodiscard]] inline RotarySpec rope(std::int64_t head_dim, double base = usual_base) {
  return {.head_dim = head_dim, .base = base, .pairing = Pairing::half};
}

[[nodiscard]] inline Frequencies frequencies_of(const RotarySpec& spec,
                                                std::optional<std::int64_t> context_tokens = {}) {
  return value_or_fail(make_frequencies(spec, context_tokens));
}

// RoPE without scaling.
[[nodiscard]] inline Frequencies plain_frequencies(std::int64_t head_dim = usual_head_dim,
                                                   double base = usual_base) {
  return frequencies_of(rope(head_dim, base));
}

[[nodiscard]] inline Rotations rows_at(const Frequencies& frequencies, const Positions& positions) {
  return value_or_fail(make_rotations(frequencies, positions, {.rows = RowDType::f64}));
}
[[nodiscard]] inline Rotations rows_at(const Frequencies& frequencies, std::int64_t position) {
  return rows_at(frequencies, ConsecutivePositions{.first = position, .tokens = 1});
}

// The scores of pairs q and k, [pairs][head_dim], with k `distance` positions before q.
[[nodiscard]] inline std::vector<double> scores_at(std::int64_t distance,
                                                   const Frequencies& frequencies,
                                                   const std::vector<double>& q,
                                                   const std::vector<double>& k) {
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

// S(r) = mean of cos(r inv_freq) for r in [0, distances). A vector whose pairs of features all have
// the same length has the cosine S(r) with itself r positions away. Unequal lengths give a weighted
// mean of cos(r inv_freq).
[[nodiscard]] inline std::vector<double> similarity(const Frequencies& frequencies,
                                                    std::int64_t distances) {
  return plot::aligned_similarity(frequencies, plot::evenly(distances - 1, distances));
}

// The largest rise of the curve above its lowest earlier value.
[[nodiscard]] inline double largest_rise(std::span<const double> curve) {
  double least = curve.front();
  double rise = 0;
  for (const double value : curve) {
    least = std::min(least, value);
    rise = std::max(rise, value - least);
  }
  return rise;
}

// The index of the first negative value; the curve's size if there is none.
[[nodiscard]] inline std::int64_t first_negative(std::span<const double> curve) {
  return std::ranges::find_if(curve, [](double value) { return value < 0; }) - curve.begin();
}

}  // namespace rotary::cli::claims
