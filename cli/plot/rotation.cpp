// SPDX-License-Identifier: Apache-2.0
// What rotary embedding does to one pair of features: in the plane, and in space.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"

namespace rotary::cli::plot {
namespace {

constexpr double degrees = 180 / std::numbers::pi;
constexpr double quarter = std::numbers::pi / 2;  // of a turn

// (x, y) of the pair (1, 0) at each position.
struct PairPath {
  std::vector<double> x, y;
};

PairPath path_of(const Frequencies& frequencies, std::size_t pair, const Integers& at) {
  PairPath path;
  for_each_turned(frequencies, at, [&](const TurnedRow& row) {
    path.x.push_back(row.cos[pair]);
    path.y.push_back(row.sin[pair]);
  });
  return path;
}

std::string speed_text(const Frequencies& frequencies, std::size_t pair) {
  return fmt::format("pair {}: {:.3g}° a token", pair, frequencies.inv_freq[pair] * degrees);
}

Panel panel_in_plane(const Frequencies& frequencies, std::size_t pair) {
  constexpr std::int64_t positions = 7;
  const Axis range{.label = {}, .from = -1.15, .to = 1.15};
  Panel panel{
      .title = speed_text(frequencies, pair), .x = range, .y = range, .aspect = Aspect::equal};
  panel.x.label = "first feature of the pair";
  panel.y.label = "second feature";
  const PairPath path = path_of(frequencies, pair, evenly(positions - 1, positions));
  for (std::size_t p = 0; p < path.x.size(); ++p) {
    panel.series.push_back({.name = fmt::format("position {}", p),
                            .color = p,
                            .x = {0, path.x[p]},
                            .y = {0, path.y[p]}});
  }
  Series circle{.name = {}, .style = Style::dashed, .color = 7, .x = {}, .y = {}};
  for (int degree = 0; degree <= 360; degree += 5) {
    circle.x.push_back(std::cos(degree / degrees));
    circle.y.push_back(std::sin(degree / degrees));
  }
  panel.series.push_back(std::move(circle));
  return panel;
}

// A pair that turns about so many times slower than the first, so that both can be seen.
std::size_t slower_pair(const Frequencies& frequencies, double times) {
  const std::vector<double>& inv_freq = frequencies.inv_freq;
  std::size_t pair = 0;
  while (pair + 1 < inv_freq.size() &&
         std::abs(inv_freq[pair] * times) > std::abs(inv_freq.front())) {
    ++pair;
  }
  return pair;
}

// The fastest pair whose second feature only rises up to `last`, and not so slowly at its end that
// one would not see it; where there is none the slowest.
std::size_t rising_pair(const Frequencies& frequencies, std::int64_t last) {
  constexpr double most = 0.8 * quarter;
  const auto found = std::ranges::find_if(frequencies.inv_freq, [&](double frequency) {
    return std::abs(frequency) * static_cast<double>(last) <= most;
  });
  const auto pair = static_cast<std::size_t>(found - frequencies.inv_freq.begin());
  return std::min(pair, frequencies.inv_freq.size() - 1);
}

}  // namespace

Figure rotation(const Request& request) {
  const Subject subject = subject_of(request);
  return {.name = "rotation",
          .title = fmt::format("A pair of features at positions 0 to 6 ({})", subject.name),
          .caption =
              "Position p turns the pair by p times the pair's frequency; its length stays. "
              "The first pair turns fastest, the others ever less.",
          .panels = {panel_in_plane(subject.frequencies, 0),
                     panel_in_plane(subject.frequencies, slower_pair(subject.frequencies, 10))},
          .columns = 2};
}

Figure corkscrew(const Request& request) {
  const Subject subject = subject_of(request);
  const std::int64_t last = request.last.value_or(64);
  Panel panel{.title = {},
              .x = Axis{.label = "first feature of a pair", .from = -1, .to = 1},
              .y = Axis{.label = "second feature", .from = -1, .to = 1},
              .z = Axis{.label = "position (tokens)", .from = 0, .to = static_cast<double>(last)}};
  // Between tokens, too: a line through whole positions of a fast pair would have corners.
  for (const double times : {3.0, 10.0, 40.0}) {
    const std::size_t pair = slower_pair(subject.frequencies, times);
    Series series{.name = speed_text(subject.frequencies, pair), .x = {}, .y = {}};
    for (int step = 0; step <= 400; ++step) {
      const double position = static_cast<double>(last) * step / 400;
      const double angle = position * subject.frequencies.inv_freq[pair];
      series.x.push_back(std::cos(angle));
      series.y.push_back(std::sin(angle));
      series.z.push_back(position);
    }
    panel.series.push_back(std::move(series));
  }
  return {.name = "corkscrew",
          .title = fmt::format("Three pairs, turning as the position grows ({})", subject.name),
          .caption =
              "Each pair is a corkscrew with a pitch of its own, its wavelength. A position "
              "is the angles of all of them together.",
          .panels = {std::move(panel)}};
}

Figure fast_slow(const Request& request) {
  const Subject subject = subject_of(request);
  const Frequencies& frequencies = subject.frequencies;
  const Integers at = evenly(request.last.value_or(120), 240);
  const std::size_t fast = slower_pair(frequencies, 2);
  const std::size_t slow = rising_pair(frequencies, at.back());
  const double turned = std::abs(frequencies.inv_freq[slow]) * static_cast<double>(at.back());
  PairPath path = path_of(frequencies, fast, at);
  std::vector<double> height = path_of(frequencies, slow, at).y;
  Panel panel{.title = {},
              .x = Axis{.label = fmt::format("pair {}, first feature", fast), .from = -1, .to = 1},
              .y = Axis{.label = fmt::format("pair {}, second feature", fast), .from = -1, .to = 1},
              .z = Axis{.label = fmt::format("pair {}, second feature", slow)}};
  panel.series.push_back({.name = "from one to the next",
                          .style = Style::dashed,
                          .color = 5,
                          .x = path.x,
                          .y = path.y,
                          .z = height});
  panel.series.push_back({.name = at[1] == 1
                                      ? fmt::format("positions 0 to {}", at.back())
                                      : fmt::format("positions 0, {}, ... {}", at[1], at.back()),
                          .style = Style::points,
                          .color = 0,
                          .x = std::move(path.x),
                          .y = std::move(path.y),
                          .z = std::move(height)});
  return {.name = "fast_slow",
          .title = fmt::format("{} against {}", speed_text(frequencies, fast),
                               speed_text(frequencies, slow)),
          .caption = fmt::format(
              "Around the axis the fast pair tells neighbours apart; along it the slow one, "
              "which turns {:.3g}° over these positions, {}.",
              turned * degrees,
              turned < quarter ? "says roughly where in the text they are"
                               : "goes up and down: no pair is slow enough to say where they are"),
          .panels = {std::move(panel)}};
}

}  // namespace rotary::cli::plot
