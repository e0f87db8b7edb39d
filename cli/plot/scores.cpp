// SPDX-License-Identifier: Apache-2.0
// Figures of scores by distance: the bound of RoFormer §3.4.3; scores of random and equal q and k
// (Barbero et al. 2024, arXiv 2410.06205, propositions 3.1 and 3.2); scores of clipped angles. Also
// the smallest base with Σ_i cos(m ω_i) >= 0 at every distance m in a context (Men et al. 2024,
// arXiv 2405.14591). If the sum is negative, a key equal to the query scores below a random key.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "apps/failure.hpp"
#include "cli/hidden_size.hpp"
#include "cli/plot/makers.hpp"
#include "cli/vectors.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::cli::plot {
namespace {

// The score of one random q and k.
class RandomScore {
 public:
  RandomScore(std::size_t pairs, std::uint64_t seed) : products_(pairs) {
    const std::vector<double> q = normal_numbers(seed, 2 * pairs);
    const std::vector<double> k = normal_numbers(~seed, 2 * pairs);
    double q_energy = 0;
    double k_energy = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::complex<double> of_q(q[2 * i], q[2 * i + 1]);
      const std::complex<double> of_k(k[2 * i], k[2 * i + 1]);
      products_[i] = of_q * std::conj(of_k);
      q_energy += std::norm(of_q);
      k_energy += std::norm(of_k);
    }
    lengths_ = std::sqrt(q_energy * k_energy);
  }

  // q·R(r)k / (|q||k|)
  [[nodiscard]] double at(const TurnedRow& row) const {
    double score = 0;
    for (std::size_t i = 0; i < products_.size(); ++i)
      score += products_[i].real() * row.cos[i] - products_[i].imag() * row.sin[i];
    return score / lengths_;
  }

 private:
  std::vector<std::complex<double>> products_;  // q_i conj(k_i)
  double lengths_ = 0;                          // |q||k|
};

// Scores of random q and k: a band of mean ± standard deviation over draws, and one draw.
std::array<Series, 2> random_series(const Frequencies& frequencies, const Integers& distances,
                                    std::uint64_t seed) {
  constexpr int draws = 100;
  const std::size_t pairs = frequencies.inv_freq.size();
  const RandomScore single(pairs, seed);
  std::vector<RandomScore> scores;
  for (std::uint64_t draw = 0; draw < draws; ++draw) scores.emplace_back(pairs, seed * 1000 + draw);
  Series one{.name = "one random q and k", .color = 3, .x = as_doubles(distances)};
  Series band{.name = "random q and k: mean ± deviation",
              .style = Style::band,
              .color = 5,
              .x = as_doubles(distances)};
  for_each_turned(frequencies, distances, [&](const TurnedRow& row) {
    double sum = 0;
    double squares = 0;
    for (const RandomScore& score : scores) {
      const double drawn = score.at(row);
      sum += drawn;
      squares += drawn * drawn;
    }
    const double mean = sum / draws;
    const double deviation = std::sqrt(std::max(0.0, squares / draws - mean * mean));
    band.lower.push_back(mean - deviation);
    band.y.push_back(mean + deviation);
    one.y.push_back(single.at(row));
  });
  return {{std::move(band), std::move(one)}};
}

// Adds the points for q = k to `line`, which has the name and style.
Series aligned_line(Series line, const Frequencies& frequencies, const Integers& distances) {
  line.x = as_doubles(distances);
  line.y = aligned_similarity(frequencies, distances);
  return line;
}

// The mean over pairs of cos(phase_i - angle_i) at each distance, with clipped angles.
Series clipped_scores(std::string name, const Frequencies& frequencies, const Integers& distances,
                      const std::vector<double>& phases) {
  const PositionMap map = ClippedAngle{};
  const auto score = [&](std::int64_t distance) {
    double sum = 0;
    for (std::size_t pair = 0; pair < phases.size(); ++pair) {
      const double inv_freq = frequencies.inv_freq[pair];
      sum += std::cos(phases[pair] - relative_position(map, distance, 0, inv_freq) * inv_freq);
    }
    return sum / static_cast<double>(phases.size());
  };
  return {.name = std::move(name), .x = as_doubles(distances), .y = numbers_of(distances, score)};
}

constexpr double grid = 1.01;  // ratio of neighbouring bases
constexpr double first_base = 1000;
constexpr std::int64_t most_work = std::int64_t{128} << 18;  // features times tokens; takes seconds

// The first distance m at which Σ_i cos(m ω_i) is negative, or `end` if none is below `end`.
std::int64_t first_negative(const Frequencies& frequencies, std::int64_t end) {
  constexpr std::int64_t at_once = 512;
  for (std::int64_t first = 0; first < end; first += at_once) {
    const std::int64_t count = std::min(at_once, end - first);
    const Rotations rotations =
        value_or_fail(make_rotations(frequencies, ConsecutivePositions{first, count}));
    for (std::int64_t row = 0; row < count; ++row) {
      float sum = 0;
      for (const float cos : rotations.cos(0, row)) sum += cos;
      if (sum < 0) return first + row;
    }
  }
  return end;
}

Series needed_base(std::int64_t dim, std::int64_t last) {
  Series series{.name = fmt::format("smallest base, d = {}", dim), .style = Style::steps};
  std::int64_t reached = 1;
  for (double at = first_base; reached < last && at < 1e9; at *= grid) {
    const std::int64_t until = first_negative(plain_subject(dim, at).frequencies, last);
    if (until <= reached) continue;
    // Contexts in (reached, until] need this base.
    series.x.push_back(static_cast<double>(reached));
    series.y.push_back(at);
    reached = until;
  }
  if (series.y.empty()) return series;  // a context of one token works with any base
  series.x.push_back(static_cast<double>(reached));
  series.y.push_back(series.y.back());
  return series;
}

}  // namespace

double decay_bound(const TurnedRow& row) {
  std::complex<double> sum;
  double total = 0;
  for (std::size_t pair = 0; pair < row.cos.size(); ++pair) {
    sum += std::complex(row.cos[pair], row.sin[pair]);
    total += std::abs(sum);
  }
  return total / static_cast<double>(row.cos.size());
}

Figure decay(const Request& request) {
  const Integers distances = evenly(request.last.value_or(256), 1024);
  Panel panel{.x = Axis{"distance r (tokens)"},
              .y = Axis{.label = "B(r), mean of |S_j| over pairs j", .from = 0}};
  for (const Subject& subject : subjects_of(request)) {
    panel.series.push_back({.name = subject.name,
                            .x = as_doubles(distances),
                            .y = of_turned(subject.frequencies, distances, decay_bound)});
  }
  return {.title = "The bound of RoFormer §3.4.3",
          .caption =
              "S_j is the sum of e^(i r ω) over the frequencies ω of the first j pairs. A score is "
              "at most B(r) times pairs times the largest step between neighbouring products of "
              "query and key. The bound falls in ripples, and not to 0; scores need not fall "
              "with it.",
          .panels = {std::move(panel)}};
}

Figure similarity(const Request& request) {
  const Subject subject = subject_of(request);
  const Frequencies& frequencies = subject.frequencies;
  const std::int64_t last = request.last.value_or(500);
  const std::int64_t head_dim = frequencies.window.rotary_dim;
  const std::int64_t width = request.dim.value_or(subject.hidden_size.value_or(usual_hidden_size));
  const bool is_assumed = !request.dim && !subject.hidden_size;
  const std::string_view source = request.dim ? "--dim" : is_assumed ? "assumed" : "config";
  const Subject mistaken = plain_subject(width, subject.spec.base);
  const Series q_is_k{.name = fmt::format("q = k, head_dim = {}", head_dim), .color = 0};
  const Series mistake{.name = fmt::format("q = k, d_model = {} ({}) instead", width, source),
                       .style = Style::dashed,
                       .color = 7};
  const Axis similarity_axis{.label = "score q·k / (|q| |k|)", .from = -0.4, .to = 1.05};

  const Integers near = evenly(last, last <= 2000 ? 2000 : 500);
  const std::int64_t peak = last * 3 / 10;
  // k is q rotated by `peak` tokens, so the score is largest at that distance.
  Integers moved = near;
  for (std::int64_t& distance : moved) distance -= peak;
  Panel linear{.x = Axis{"distance (tokens)"}, .y = similarity_axis};
  auto [band, one] = random_series(frequencies, near, request.seed);
  linear.series = {std::move(band), aligned_line(q_is_k, frequencies, near)};
  linear.series.push_back({.name = fmt::format("k chosen to peak at {}", peak),
                           .color = 2,
                           .x = as_doubles(near),
                           .y = aligned_similarity(frequencies, moved)});
  linear.series.push_back(std::move(one));
  linear.series.push_back(aligned_line(mistake, mistaken.frequencies, near));

  const Integers far = by_decades(200 * last, 40);
  Panel logarithmic{.x = Axis{"distance (tokens)", Scale::logarithmic}, .y = similarity_axis};
  logarithmic.series = {aligned_line(q_is_k, frequencies, far),
                        aligned_line(mistake, mistaken.frequencies, far)};
  return {.title = fmt::format("Scores against distance ({})", subject.name),
          .caption = fmt::format(
              "Scores fall with distance only if the key k equals the query q, and with bumps. "
              "Scores of random q and k scatter about 0 at every distance, and some key scores "
              "best at any distance. A common mistake takes d_model, the features of a token, for "
              "the head's dimension, and hides the bumps{}.",
              is_assumed ? fmt::format("; no config says d_model here, so it is {}", width) : ""),
          .panels = {std::move(linear), std::move(logarithmic)}};
}

// The scores of five single pairs, each over 1.25 turns, and of each half of the pairs.
Figure reach(const Request& request) {
  constexpr double drawn_turns = 1.25;
  const Subject subject = subject_of(request);
  const std::vector<double>& inv_freq = subject.frequencies.inv_freq;
  const std::size_t pairs = inv_freq.size();
  const Integers distances = by_decades(request.last.value_or(100000), 100);
  const Panel empty{.x = Axis{"distance (tokens)", Scale::logarithmic},
                    .y = Axis{.label = "score q·k / (|q| |k|)", .from = -1.05, .to = 1.05}};
  const auto mean_of = [&](std::string name, std::size_t first, std::size_t count) {
    return Series{.name = std::move(name),
                  .x = as_doubles(distances),
                  .y = of_turned(subject.frequencies, distances, [=](const TurnedRow& row) {
                    return mean(row.cos.subspan(first, count));
                  })};
  };
  Panel alone = empty;
  alone.title = "all weight in one pair";
  for (const std::size_t pair : {std::size_t{0}, pairs / 4, pairs / 2, pairs * 3 / 4, pairs - 1}) {
    Series& series = alone.series.emplace_back(mean_of(fmt::format("pair {}", pair), pair, 1));
    for (std::size_t i = 0; i < series.y.size(); ++i)
      if (series.x[i] * std::abs(inv_freq[pair]) > drawn_turns * 2 * std::numbers::pi)
        series.y[i] = nothing_there;
  }
  Panel together = empty;
  together.title = "weight spread over half of the pairs";
  const std::size_t half = (pairs + 1) / 2;
  together.series = {mean_of("the fast half", 0, half),
                     mean_of("the slow half", pairs - half, half)};
  return {.title = fmt::format("How far pairs reach, q = k ({})", subject.name),
          .caption =
              "The score of a query and an equal key. One pair falls to a half in a sixth of its "
              "turn and is back after a whole turn, so a fast pair scores as high far away as "
              "near. Pairs of different speed do not come back at once.",
          .panels = {std::move(alone), std::move(together)},
          .columns = 2};
}

Figure clipped(const Request& request) {
  const Subject subject = subject_of(request);
  const Frequencies& frequencies = subject.frequencies;
  const std::size_t pairs = frequencies.inv_freq.size();
  const Integers distances = by_decades(request.last.value_or(100000), 40);
  const Axis distance_axis{"distance (tokens)", Scale::logarithmic};
  Panel aligned{.title = "q = k",
                .x = distance_axis,
                .y = Axis{.label = "score q·k / (|q| |k|)", .from = -1.05, .to = 1.05}};
  aligned.series = {
      clipped_scores("clipped at half a turn", frequencies, distances, std::vector<double>(pairs)),
      {.name = "as it is",
       .x = as_doubles(distances),
       .y = aligned_similarity(frequencies, distances)}};
  Panel random{
      .title = "other q and k, clipped", .x = distance_axis, .y = Axis{"score q·k / (|q| |k|)"}};
  for (std::uint64_t draw = 0; draw < 4; ++draw) {
    // The angles of normal pairs are uniform on the circle.
    const std::vector<double> normal = normal_numbers(request.seed * 1000 + draw, 2 * pairs);
    std::vector<double> phases(pairs);
    for (std::size_t i = 0; i < pairs; ++i)
      phases[i] = std::atan2(normal[2 * i + 1], normal[2 * i]);
    random.series.push_back(
        clipped_scores(fmt::format("random phases {}", draw + 1), frequencies, distances, phases));
  }
  return {
      .title = fmt::format("Clipped angles ({})", subject.name),
      .caption =
          "If each pair's relative angle stops at half a turn, the score of a query q and a key "
          "k falls with distance where q = k. For other q and k it still goes up and down.",
      .panels = {std::move(aligned), std::move(random)},
      .columns = 2};
}

Figure base(const Request& request) {
  const std::int64_t dim = request.dim.value_or(
      request.subjects.empty() ? 128 : request.subjects.front().frequencies.window.rotary_dim);
  std::int64_t longest = 131'072;  // or the longest trained context
  for (const Subject& subject : request.subjects)
    longest = std::max(longest, subject.trained_context_tokens.value_or(0));
  const std::int64_t last = request.last.value_or(std::min(longest, most_work / dim));
  require(dim * last <= most_work, "head_dim times --last must be at most {} for base, got {}",
          most_work, dim * last);
  Panel panel{.x = Axis{"context (tokens)", Scale::logarithmic, 256},
              .y = Axis{"base", Scale::logarithmic}};
  panel.series.push_back(needed_base(dim, last));
  for (const Subject& subject : request.subjects) {
    if (!subject.trained_context_tokens) continue;
    panel.series.push_back({.name = subject.name,
                            .style = Style::points,
                            .x = {static_cast<double>(*subject.trained_context_tokens)},
                            .y = {subject.spec.base.get()}});
  }
  return {.title = "The base that a context asks for",
          .caption =
              "The smallest base, in steps of 1 %, with which a key that equals the query scores "
              "no less than a random one at every distance m within the context: Σ cos(m ω) >= 0 "
              "over the frequencies ω of the pairs. Some larger bases fail again.",
          .panels = {std::move(panel)}};
}

}  // namespace rotary::cli::plot
