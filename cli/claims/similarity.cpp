// SPDX-License-Identifier: Apache-2.0
// Claims 9 and 10: how distance changes the score of two vectors. Claims 12, 13 and 14: the curve
// of a vector's score with itself.
#include <fmt/format.h>

#include <functional>
#include <numbers>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::cli::claims {
namespace {

bool falls(const std::vector<double>& values) {
  return std::ranges::is_sorted(values, std::greater_equal<>());
}

// Means of a curve of 1024 distances over distances 1, 2 to 3, 4 to 7, ..., 512 to 1023.
std::vector<double> octave_means(std::span<const double> curve) {
  std::vector<double> means;
  for (std::size_t first = 1; 2 * first <= curve.size(); first *= 2)
    means.push_back(mean(curve.subspan(first, first)));
  return means;
}

// Independent normal q and k.
struct RandomPairs {
  Frequencies frequencies;
  std::vector<double> q;
  std::vector<double> k;
};

RandomPairs random_pairs(std::uint64_t seed, std::int64_t head_dim, std::int64_t samples) {
  Random random(seed);
  std::vector<double> q = random.normals(samples * head_dim);
  return {plain_frequencies(head_dim), std::move(q), random.normals(samples * head_dim)};
}

Evidence bound_of_roformer(const Frequencies& frequencies) {
  const auto bound = [&](std::int64_t distance) {
    const Rotations rows = rows_at(frequencies, distance);
    return plot::decay_bound({rows.cos<double>(0, 0), rows.sin<double>(0, 0)});
  };
  return aside("RoFormer's bound B(r), 128 features, base 10000 (its figure 2)",
               "it is an upper bound that rises and falls, and does not go to 0",
               bound(51) > bound(50) && bound(246) > bound(236),
               {{"B(0)", bound(0), about(32.5, 1e-9)},
                {"B(8)", bound(8), about(19.8174, 5e-5)},
                {"B(50)", bound(50), about(12.6295, 5e-5)},
                {"B(51)", bound(51), about(13.2176, 5e-5)},
                {"B(100)", bound(100), about(10.2273, 5e-5)},
                {"B(236)", bound(236), about(6.4150, 5e-5)},
                {"B(246)", bound(246), about(9.7635, 5e-5)},
                {"B(256)", bound(256), about(6.5431, 5e-5)},
                {"B(200,000)", bound(200000), about(6.17, 5e-3)}});
}

std::vector<Evidence> decay() {
  const Frequencies frequencies = plain_frequencies();
  const std::vector<double> aligned = similarity(frequencies, 1024);
  const std::vector<double> trend = octave_means(aligned);
  const auto [random_frequencies, q, k] = random_pairs(11, usual_head_dim, 1000);
  std::vector<double> random;  // mean scores; a score has deviation 1
  for (std::int64_t distance = 1; distance < 1024; distance *= 2)
    random.push_back(mean(scores_at(distance, random_frequencies, q, k)) /
                     std::sqrt(static_cast<double>(usual_head_dim)));
  // k = R(100) q. Its score at r is the similarity of q with itself at distance |r - 100|.
  std::vector<double> ahead;
  for (std::int64_t r = 0; r < 1024; ++r)
    ahead.push_back(aligned[static_cast<std::size_t>(std::abs(r - 100))]);
  const auto peak = static_cast<double>(std::ranges::max_element(ahead) - ahead.begin());
  const std::string octaves =
      "means over distances of 1, 2 to 3, 4 to 7, ..., 512 to 1023 fall at each step";
  return {
      as_claimed("q = k, all pairs of equal length, 128 features: cosine of the two", octaves,
                 falls(trend),
                 {{"mean at 2 to 3", trend[1], about(0.856, 5e-4)},
                  {"mean at 32 to 63", trend[5], about(0.5106, 5e-4)},
                  {"mean at 256 to 511", trend[8], about(0.2864, 5e-4)}}),
      beyond("the same, each distance by itself, up to 1000", "the cosine falls with every token",
             falls(aligned),
             {{"largest rise", largest_rise(std::span(aligned).first(1001)), about(0.2544, 5e-4)}}),
      beyond("1000 random q and k, scores / sqrt(d) of deviation 1 (seed 11)",
             "means at 1, 2, 4, ..., 512 tokens fall at each step", falls(random),
             {{"mean at 1", random.front(), about(0, 0.13)},
              {"mean at 512", random.back(), about(0, 0.13)}}),
      beyond("k is q rotated by 100 tokens", octaves, falls(octave_means(ahead)),
             {{"distance of the highest score", peak, exactly(100)}}),
      bound_of_roformer(frequencies)};
}

struct Closer {
  double share;              // of all pairs
  double share_of_negative;  // of the pairs whose earlier score is negative
};

// The shares of pairs (q, k) whose score rises when q rotates by `distance` tokens.
Closer closer_after(std::int64_t distance, const RandomPairs& pairs) {
  const std::vector<double> before = scores_at(0, pairs.frequencies, pairs.q, pairs.k);
  const std::vector<double> after = scores_at(distance, pairs.frequencies, pairs.q, pairs.k);
  double rises = 0;
  double negative = 0;
  double negative_rises = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double rise = after[i] > before[i] ? 1 : 0;
    rises += rise;
    negative += before[i] < 0 ? 1 : 0;
    negative_rises += before[i] < 0 ? rise : 0;
  }
  return {rises / static_cast<double>(before.size()), negative_rises / negative};
}

Evidence closer_in(std::string computed, const std::vector<Number>& shares) {
  constexpr double hardly_ever = 0.1;
  const auto seldom = [](const Number& share) { return share.value < hardly_ever; };
  return as_claimed(std::move(computed), "the share is below 1 in 10 in some case",
                    std::ranges::any_of(shares, seldom), shares);
}

std::vector<Evidence> high_dimension() {
  constexpr double four_deviations_of_20k = 0.0142;  // of a share near 0.5
  std::vector<Number> of_all;
  std::vector<Number> of_negative;
  const RandomPairs pairs = random_pairs(12, usual_head_dim, 20000);
  for (const std::int64_t distance : {1, 10, 100}) {
    const Closer closer = closer_after(distance, pairs);
    of_all.push_back({fmt::format("128 features, distance {}", distance), closer.share,
                      about(0.5, four_deviations_of_20k)});
    // Scores before and after are nearly normal with this correlation. So the rise and the earlier
    // score have the correlation -sqrt((1 - correlation) / 2). The share is the probability that
    // the rise is positive if the earlier score is negative.
    const double correlation = mean(rows_at(pairs.frequencies, distance).cos<double>(0, 0));
    const double expected = 0.5 + std::asin(std::sqrt((1 - correlation) / 2)) / std::numbers::pi;
    of_negative.push_back({fmt::format("negative before, distance {}", distance),
                           closer.share_of_negative,
                           about(expected, std::numbers::sqrt2 * four_deviations_of_20k)});
  }
  of_all.push_back({"512 features, distance 10",
                    closer_after(10, random_pairs(12, 512, 5000)).share,
                    about(0.5, 2 * four_deviations_of_20k)});
  return {closer_in("20000 random q and k (5000 of 512 features), q turned by a distance (seed "
                    "12): share of pairs with a higher score afterwards",
                    of_all),
          closer_in("the same for pairs with a negative score before", of_negative)};
}

// cases: number of features, expected rise.
Evidence rises_within_1000(Setting setting,
                           const std::vector<std::pair<std::int64_t, double>>& cases) {
  std::vector<Number> numbers;
  numbers.reserve(cases.size());
  for (const auto& [features, expected] : cases) {
    numbers.push_back({fmt::format("largest rise, d = {}", features),
                       largest_rise(similarity(plain_frequencies(features), 1001)),
                       about(expected, 5e-5)});
  }
  return judged(setting,
                "cosine of q = k against the distance, 0 to 1000, base 10000: how far it rises "
                "above its lowest earlier value",
                "it rises by at most 0.01", numbers,
                [](const Number& rise) { return rise.value <= 0.01; });
}

std::vector<Evidence> bumps() {
  return {rises_within_1000(Setting::unmet, {{64, 0.4175}, {128, 0.2544}, {256, 0.1301}}),
          rises_within_1000(Setting::met, {{4096, 0.0003}})};
}

constexpr std::int64_t window = 10000;  // as many tokens as the base
constexpr std::int64_t half_window = window / 2;

struct MeanRow {
  std::vector<double> cos;
  std::vector<double> sin;
};

// The mean cos and sin over every tenth distance in [first, first + window).
MeanRow mean_row(const Frequencies& frequencies, std::int64_t first) {
  constexpr std::int64_t step = 10;
  std::vector<std::int64_t> places = plot::evenly(window - step, window / step);
  for (std::int64_t& place : places) place += first;
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

// The mean score of q and k over the distances of the row (pairing half).
double score_of(const MeanRow& row, std::span<const double> q, std::span<const double> k) {
  const std::size_t half = row.cos.size();
  double score = 0;
  for (std::size_t i = 0; i < half; ++i) {
    score += (q[i] * k[i] + q[half + i] * k[half + i]) * row.cos[i] +
             (q[i] * k[half + i] - q[half + i] * k[i]) * row.sin[i];
  }
  return score;
}

// How much the mean score / sqrt(d) of random q and k rises from the earlier to the later window.
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
               "it is far below the base, and smaller with fewer features",
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
      beyond("2000 random q and k, scores / sqrt(d) of deviation 1 (seed 13): the mean over the "
             "second of these windows minus the mean over the first",
             "it rises by more than 0.05 beyond the base", random > rises_by,
             {{"mean rise", random, about(0, rises_by)}}),
      first_zeros()};
}

// Σ over pairs of a cos φ - b sin φ, where a + ib = q conj(k) and the angle φ is clipped at π.
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

  // The first distance after which the score does not fall, at most `limit`.
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

std::vector<Claim> similarity_claims() {
  using enum Verdict;
  return {
      {9, "decay", "nearby tokens get higher weights: attention falls with the distance",
       holds_only_if,
       "q and k point the same way, as a trend over wide ranges. The mean score of random q and "
       "k is 0 at every distance, and for any distance some k scores highest there",
       decay,
       Publications{{"for any query and any distance some key has its highest score there; the "
                     "expected score of normal q and k is 0 at every distance",
                     "Barbero et al. 2024, arXiv 2410.06205, propositions 3.1 and 3.2"},
                    {"the bound and its figure", "Su et al. 2021, arXiv 2104.09864, 3.4.3"}}},
      {10, "high-dimension", "in high dimension a rotation hardly ever brings two vectors closer",
       fails,
       "it brings half of all pairs closer in any dimension, because each pair of features rotates "
       "in its own plane, and more than half of those with a negative score before",
       high_dimension},
      {12, "bumps", "the similarity curve has bumps in theory and is well behaved in practice",
       holds_only_if,
       "\"practice\" divides exponents by d_model, say 4096, in place of the head's 64 to 256 "
       "features. No model does so, and with the features of a head the bumps stay",
       bumps},
      {13, "rises-again", "beyond the base similarity rises again", holds_only_if,
       "q and k point the same way and ripples are averaged out, from about 1.5 times the base "
       "on. The mean score of random q and k stays 0",
       rises_again},
      {14, "clipped-angle", "clipping the angles makes similarity fall strictly with the distance",
       holds_only_if,
       "q and k point the same way in every pair; it is no product of two rotations either, so "
       "attention must compute it (ClippedAngle)",
       clipped_angle},
  };
}

}  // namespace rotary::cli::claims
