// SPDX-License-Identifier: Apache-2.0
// "Long-term decay": the bound that RoFormer §3.4.3 draws, and what scores themselves do, which is
// another matter (Barbero et al. 2024, arXiv 2410.06205, propositions 3.1 and 3.2).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"

namespace rotary::cli::plot {
namespace {

// B(r), the mean over j of |S_j|, S_j = Σ_{i<j} e^(i r ω_i): RoFormer's figure 2.
std::vector<double> decay_bound(const Frequencies& frequencies, const Integers& distances) {
  const Rotations rotations = turned(frequencies, distances);
  std::vector<double> bound;
  for (std::int64_t row = 0; row < rotations.tokens(); ++row) {
    const auto cos = rotations.cos<double>(0, row);
    const auto sin = rotations.sin<double>(0, row);
    std::complex<double> sum;
    double total = 0;
    for (std::size_t pair = 0; pair < cos.size(); ++pair) {
      sum += std::complex(cos[pair], sin[pair]);
      total += std::abs(sum);
    }
    bound.push_back(total / static_cast<double>(cos.size()));
  }
  return bound;
}

// k for which the score is largest at distance `peak`: similarity moved there.
std::vector<double> adversarial(const Frequencies& frequencies, const Integers& distances,
                                std::int64_t peak) {
  Integers moved = distances;
  for (std::int64_t& distance : moved) distance -= peak;
  return aligned_similarity(frequencies, moved);
}

// q·R(r)k / (|q||k|) of random q and k.
std::vector<double> random_similarity(const Rotations& rotations, std::uint64_t seed) {
  const auto pairs = static_cast<std::size_t>(rotations.window().pairs());
  const std::vector<double> q = normal_numbers(seed, 2 * pairs);
  const std::vector<double> k = normal_numbers(~seed, 2 * pairs);
  std::vector<std::complex<double>> products(pairs);  // q_i conj(k_i)
  double q_energy = 0;
  double k_energy = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::complex<double> of_q(q[2 * i], q[2 * i + 1]);
    const std::complex<double> of_k(k[2 * i], k[2 * i + 1]);
    products[i] = of_q * std::conj(of_k);
    q_energy += std::norm(of_q);
    k_energy += std::norm(of_k);
  }
  std::vector<double> similarity;
  for (std::int64_t row = 0; row < rotations.tokens(); ++row) {
    const auto cos = rotations.cos<double>(0, row);
    const auto sin = rotations.sin<double>(0, row);
    double score = 0;
    for (std::size_t i = 0; i < pairs; ++i)
      score += products[i].real() * cos[i] - products[i].imag() * sin[i];
    similarity.push_back(score / std::sqrt(q_energy * k_energy));
  }
  return similarity;
}

// Mean less and plus a standard deviation over draws, at each distance.
Series random_band(const Rotations& rotations, const Integers& distances, std::uint64_t seed) {
  constexpr int draws = 100;
  std::vector<double> sums(distances.size());
  std::vector<double> squares(distances.size());
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const std::vector<double> one = random_similarity(rotations, seed * 1000 + draw);
    for (std::size_t i = 0; i < one.size(); ++i) {
      sums[i] += one[i];
      squares[i] += one[i] * one[i];
    }
  }
  Series band{.name = "random q and k: mean ± deviation",
              .style = Style::band,
              .color = 5,
              .x = as_doubles(distances),
              .y = {}};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double mean = sums[i] / draws;
    const double deviation = std::sqrt(std::max(0.0, squares[i] / draws - mean * mean));
    band.lower.push_back(mean - deviation);
    band.y.push_back(mean + deviation);
  }
  return band;
}

struct Curve {
  std::string name;
  Style style;
  Color color;
};

Series aligned(const Frequencies& frequencies, const Integers& distances, const Curve& curve) {
  return {.name = curve.name,
          .style = curve.style,
          .color = curve.color,
          .x = as_doubles(distances),
          .y = aligned_similarity(frequencies, distances)};
}

}  // namespace

Figure decay(const Request& request) {
  const Integers distances = evenly(request.last.value_or(256), 1024);
  Panel panel{.title = {},
              .x = {.label = "distance r (tokens)"},
              .y = {.label = "B(r), mean of |S_j| over pairs", .from = 0}};
  for (const Subject& subject : subjects_of(request)) {
    panel.series.push_back({.name = subject.name,
                            .x = as_doubles(distances),
                            .y = decay_bound(subject.frequencies, distances)});
  }
  return {.name = "decay",
          .title = "The bound of RoFormer §3.4.3",
          .caption =
              "A score is at most B(r) times pairs times the largest step between "
              "neighbouring products of q and k. The bound falls in ripples, and not to 0; "
              "scores need not fall with it.",
          .panels = {std::move(panel)}};
}

Figure similarity(const Request& request) {
  const Subject subject = subject_of(request);
  const Frequencies& frequencies = subject.frequencies;
  const std::int64_t last = request.last.value_or(500);
  const std::int64_t head_dim = frequencies.window.rotary_dim;
  const std::int64_t model_dim = request.dim.value_or(std::min<std::int64_t>(32 * head_dim, 65536));
  const Subject mistaken = plain_subject(model_dim, subject.spec.base);
  const Curve q_is_k{
      .name = fmt::format("q = k, head_dim = {}", head_dim), .style = Style::line, .color = 0};
  const Curve mistake{.name = fmt::format("q = k, d_model = {}: a common mistake", model_dim),
                      .style = Style::dashed,
                      .color = 7};
  const Axis similarity_axis{.label = "score / (|q| |k|)", .from = -0.4, .to = 1.05};

  const Integers near = evenly(last, last <= 2000 ? 2000 : 500);
  const std::int64_t peak = last * 3 / 10;
  const Rotations rotations = turned(frequencies, near);
  Panel linear{.title = {}, .x = {.label = "distance (tokens)"}, .y = similarity_axis};
  linear.series = {random_band(rotations, near, request.seed),
                   {.name = "one random q and k",
                    .color = 3,
                    .x = as_doubles(near),
                    .y = random_similarity(rotations, request.seed)},
                   {.name = fmt::format("k chosen to peak at {}", peak),
                    .color = 2,
                    .x = as_doubles(near),
                    .y = adversarial(frequencies, near, peak)},
                   aligned(frequencies, near, q_is_k),
                   aligned(mistaken.frequencies, near, mistake)};

  const Integers far = by_decades(200 * last, 40);
  Panel logarithmic{.title = {},
                    .x = {.label = "distance (tokens)", .scale = Scale::logarithmic},
                    .y = similarity_axis};
  logarithmic.series = {aligned(frequencies, far, q_is_k),
                        aligned(mistaken.frequencies, far, mistake)};
  return {.name = "similarity",
          .title = fmt::format("Scores against distance ({})", subject.name),
          .caption =
              "Only of q = k do scores fall with distance, and with bumps. Of random q and "
              "k they scatter about 0 at every distance, and a key can be made to score "
              "best at any.",
          .panels = {std::move(linear), std::move(logarithmic)}};
}

}  // namespace rotary::cli::plot
