// SPDX-License-Identifier: Apache-2.0
// Angles that stop at half a turn (ClippedAngle of rotary/position_maps.hpp): of q = k the score
// falls with distance, of other q and k it does not.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"
#include "rotary/position_maps.hpp"

namespace rotary::cli::plot {
namespace {

// Mean over pairs of cos(phase_i - angle_i), angles clipped.
std::vector<double> clipped_similarity(const Frequencies& frequencies, const Integers& distances,
                                       const std::vector<double>& phases) {
  const PositionMap map = ClippedAngle{};
  std::vector<double> similarity;
  for (const std::int64_t distance : distances) {
    double sum = 0;
    for (std::size_t pair = 0; pair < phases.size(); ++pair) {
      const double inv_freq = frequencies.inv_freq[pair];
      sum += std::cos(phases[pair] - relative_position(map, distance, 0, inv_freq) * inv_freq);
    }
    similarity.push_back(sum / static_cast<double>(phases.size()));
  }
  return similarity;
}

// Uniform on the circle: of a normal pair it is the angle.
std::vector<double> random_phases(std::uint64_t seed, std::size_t pairs) {
  const std::vector<double> normal = normal_numbers(seed, 2 * pairs);
  std::vector<double> phases;
  for (std::size_t pair = 0; pair < pairs; ++pair)
    phases.push_back(std::atan2(normal[2 * pair + 1], normal[2 * pair]));
  return phases;
}

}  // namespace

Figure clipped(const Request& request) {
  const Subject subject = subject_of(request);
  const std::size_t pairs = subject.frequencies.inv_freq.size();
  const Integers distances = by_decades(request.last.value_or(100000), 40);
  const Axis distance_axis{.label = "distance (tokens)", .scale = Scale::logarithmic};
  Panel aligned{.title = "q = k",
                .x = distance_axis,
                .y = Axis{.label = "score q·k / (|q| |k|)", .from = -1.05, .to = 1.05}};
  aligned.series = {
      {.name = "clipped at half a turn",
       .x = as_doubles(distances),
       .y = clipped_similarity(subject.frequencies, distances, std::vector<double>(pairs))},
      {.name = "as it is",
       .x = as_doubles(distances),
       .y = aligned_similarity(subject.frequencies, distances)}};
  Panel random{.title = "other q and k, clipped",
               .x = distance_axis,
               .y = Axis{.label = "score q·k / (|q| |k|)"}};
  for (std::uint64_t draw = 0; draw < 4; ++draw) {
    random.series.push_back(
        {.name = fmt::format("random phases {}", draw + 1),
         .x = as_doubles(distances),
         .y = clipped_similarity(subject.frequencies, distances,
                                 random_phases(request.seed * 1000 + draw, pairs))});
  }
  return {.name = "clipped",
          .title = fmt::format("Clipped angles ({})", subject.name),
          .caption =
              "Clipping each pair's relative angle at half a turn makes the score of a query q and "
              "a key k fall with distance where q = k. For other q and k it goes up and down all "
              "the same.",
          .panels = {std::move(aligned), std::move(random)},
          .columns = 2};
}

}  // namespace rotary::cli::plot
