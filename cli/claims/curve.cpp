// SPDX-License-Identifier: Apache-2.0
// Claims 12, 13 and 14: the curve of a vector and itself, so many tokens apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "cli/plot/makers.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::cli::claims {
namespace {

struct RiseOf {
  std::int64_t head_dim;
  double rise;  // expected
};

Evidence rises_within_1000(Setting setting, const std::vector<RiseOf>& cases) {
  constexpr double well_behaved = 0.01;
  std::vector<Number> numbers;
  numbers.reserve(cases.size());
  for (const auto& [features, expected] : cases) {
    numbers.push_back({fmt::format("largest rise, d = {}", features),
                       largest_rise(similarity(plain_frequencies(features), 1001)),
                       about(expected, 5e-4)});
  }
  return judged(setting,
                "cosine of q = k against the distance, 0 to 1000, base 10000: how far it rises "
                "above what it had fallen to",
                "by at most 0.01", numbers,
                [](const Number& rise) { return rise.value <= well_behaved; });
}

std::vector<Evidence> bumps() {
  return {rises_within_1000(Setting::unmet, {{64, 0.4175}, {128, 0.2544}, {256, 0.1301}}),
          rises_within_1000(Setting::met, {{4096, 0.0003}})};
}

constexpr std::int64_t window = 10000;  // one base
constexpr std::int64_t half_window = window / 2;

struct MeanRow {
  std::vector<double> cos;
  std::vector<double> sin;
};

// Over distances from first to first + window, every tenth.
MeanRow mean_row(const Frequencies& frequencies, std::int64_t first) {
  constexpr std::int64_t step = 10;
  std::vector<std::int64_t> places;
  for (std::int64_t place = 0; place < window; place += step) places.push_back(first + place);
  const std::size_t pairs = frequencies.inv_freq.size();
  MeanRow mean{.cos = std::vector<double>(pairs), .sin = std::vector<double>(pairs)};
  const double share = 1 / static_cast<double>(places.size());
  plot::for_each_turned(frequencies, places, [&](const plot::TurnedRow& row) {
    for (std::size_t i = 0; i < pairs; ++i) {
      mean.cos[i] += row.cos[i] * share;
      mean.sin[i] += row.sin[i] * share;
    }
  });
  return mean;
}

// The score of q, turned by the row, and k, each in halves.
double score_of(const MeanRow& row, std::span<const double> q, std::span<const double> k) {
  const std::size_t half = row.cos.size();
  double score = 0;
  for (std::size_t i = 0; i < half; ++i) {
    score += (q[i] * k[i] + q[half + i] * k[half + i]) * row.cos[i] +
             (q[i] * k[half + i] - q[half + i] * k[i]) * row.sin[i];
  }
  return score;
}

// Mean over random q and k, scores / sqrt(d), of the later window less the earlier one.
double mean_rise_of_random(const Frequencies& frequencies) {
  constexpr int samples = 2000;
  const MeanRow earlier = mean_row(frequencies, 10394);
  const MeanRow later = mean_row(frequencies, 41224);
  Random random(13);
  double rise = 0;
  for (int sample = 0; sample < samples; ++sample) {
    const std::vector<double> q = random.normals(usual_head_dim);
    const std::vector<double> k = random.normals(usual_head_dim);
    rise += score_of(later, q, k) - score_of(earlier, q, k);
  }
  return rise / samples / std::sqrt(static_cast<double>(usual_head_dim));
}

Evidence first_zeros() {
  const auto first = [](std::int64_t features, std::int64_t distances) {
    return static_cast<double>(first_negative(similarity(plain_frequencies(features), distances)));
  };
  const double of_64 = first(64, 2000);
  const double of_128 = first(128, 2000);
  const double of_4096 = first(4096, 6000);
  return aside("q = k, base 10000: the first distance whose cosine is negative",
               "it comes long before the base, the sooner the fewer features there are",
               of_64 < of_128 && of_128 < of_4096 && of_4096 < usual_base,
               {{"64 features", of_64, exactly(725)},
                {"128 features", of_128, exactly(1707)},
                {"4096 features, which no head has", of_4096, exactly(5289)}});
}

std::vector<Evidence> rises_again() {
  constexpr double rises_by = 0.05;
  const Frequencies frequencies = plain_frequencies();
  const std::vector<double> curve = similarity(frequencies, 60000);
  std::vector<double> sums = {0};
  for (const double value : curve) sums.push_back(sums.back() + value);
  std::vector<double> means;  // [i]: over distances from i to i + window
  for (std::size_t i = 0; i + window < sums.size(); ++i)
    means.push_back((sums[i + window] - sums[i]) / static_cast<double>(window));
  const auto least = std::ranges::min_element(means);
  const auto most = std::max_element(least, means.end());
  const auto middle = [&](auto place) {
    return static_cast<double>(place - means.begin() + half_window);
  };
  const double random = mean_rise_of_random(frequencies);
  return {
      as_claimed(
          "q = k, 128 features, base 10000, distances to 60000: mean cosine over windows of 10000",
          "it rises by more than 0.05 beyond the base",
          *most - *least > rises_by && middle(least) > usual_base,
          {{"least mean", *least, about(-0.0513, 5e-4)},
           {"middle of its window", middle(least), about(15394, 60)},
           {"largest mean after it", *most, about(0.0293, 5e-4)},
           {"middle of that window", middle(most), about(46224, 60)}}),
      beyond("2000 random q and k, scores / sqrt(d) of deviation 1 (seed 13): the mean of the "
             "second of these windows less that of the first",
             "it rises by more than 0.05 beyond the base", random > rises_by,
             {{"mean rise", random, about(0, rises_by)}}),
      first_zeros()};
}

// Σ over pairs of a cos φ - b sin φ, a + ib = q conj(k), each angle clipped at π.
struct ClippedScore {
  std::vector<double> inv_freq;
  std::vector<double> a;
  std::vector<double> b;

  [[nodiscard]] double at(std::int64_t distance) const {
    const PositionMap map = ClippedAngle{};
    double score = 0;
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const double angle = inv_freq[i] * relative_position(map, distance, 0, inv_freq[i]);
      score += a[i] * std::cos(angle) - b[i] * std::sin(angle);
    }
    return score;
  }

  // The first distance after which it does not fall, up to a limit.
  [[nodiscard]] std::int64_t falls_until(std::int64_t limit) const {
    double before = at(0);
    for (std::int64_t distance = 1; distance <= limit; ++distance) {
      const double now = at(distance);
      if (now >= before) return distance - 1;
      before = now;
    }
    return limit;
  }
};

std::vector<Evidence> clipped_angle() {
  const std::vector<double> inv_freq = plain_frequencies().inv_freq;
  const std::vector<double> ones(inv_freq.size(), 1.0);
  const std::vector<double> zeros(inv_freq.size(), 0.0);
  const ClippedScore aligned{.inv_freq = inv_freq, .a = ones, .b = zeros};
  const auto until = static_cast<double>(aligned.falls_until(30000));

  constexpr std::int64_t in_use = 1000;
  Random random(14);
  double monotone = 0;
  for (int sample = 0; sample < 200; ++sample) {
    ClippedScore score{.inv_freq = inv_freq, .a = ones, .b = zeros};
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const double phase = 2 * std::numbers::pi * random.unit();
      score.a[i] = std::cos(phase);
      score.b[i] = std::sin(phase);
    }
    monotone += score.falls_until(in_use) == in_use ? 1 : 0;
  }
  return {as_claimed("q = k, pairs of equal length, 128 features, base 10000, each relative angle "
                     "clipped at pi: score against distance",
                     "the score falls with every token, as long as a pair turns", until >= in_use,
                     {{"it falls up to distance", until, exactly(27206)},
                      {"and is then, for each pair", aligned.at(27206) / (usual_head_dim / 2.0),
                       about(-1, 1e-12)}}),
          beyond("200 random q and k with pairs of equal length (seed 14), distances to 1000",
                 "the score falls with every token", monotone > 0,
                 {{"of 200, scores that fall throughout", monotone, exactly(0)}})};
}

}  // namespace

std::vector<Claim> curve_claims() {
  using enum Verdict;
  return {
      {12, "bumps", "the similarity curve has bumps in theory and is well behaved in practice",
       holds_only_if,
       "\"practice\" divides exponents by d_model, say 4096, instead of the head's 64 to 256 "
       "features, which no model does: of a head the bumps stay",
       bumps},
      {13, "rises-again", "beyond the base similarity rises again", holds_only_if,
       "q and k point the same way and ripples are averaged out, from about 1.5 times the base on; "
       "of random q and k there is nothing to rise",
       rises_again},
      {14, "clipped-angle", "clipping the angles makes similarity fall strictly with the distance",
       holds_only_if,
       "q and k point the same way in every pair; it is no product of two rotations either, so "
       "attention has to compute it (ClippedAngle)",
       clipped_angle},
  };
}

}  // namespace rotary::cli::claims
