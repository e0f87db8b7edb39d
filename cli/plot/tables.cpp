// SPDX-License-Identifier: Apache-2.0
// What positions look like as tables [positions, features]: a sinusoidal encoding, a learned one,
// and the cos and sin that rotary embedding turns by.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cli/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"
#include "rotary/sinusoidal.hpp"

namespace rotary::cli::plot {
namespace {

HeatMap empty_map(std::size_t rows, std::size_t columns) {
  return {.rows = rows,
          .columns = columns,
          .values = std::vector<double>(rows * columns),
          .label = {},
          .lowest = -1,
          .highest = 1,
          .colors = HeatMap::Colors::diverging};
}

Panel panel_of(std::string title, HeatMap map) {
  return {.title = std::move(title),
          .x = Axis{.label = "feature"},
          .y = Axis{.label = "position"},
          .map = std::move(map),
          .y_direction = YDirection::down};
}

HeatMap sinusoidal_map(std::int64_t positions, std::int64_t dim) {
  HeatMap map = empty_map(static_cast<std::size_t>(positions), static_cast<std::size_t>(dim));
  const TokenExtents extents{.batch = 1, .tokens = positions, .features = dim};
  const TokensView view{.data = map.values.data(),
                        .dtype = DType::f64,
                        .extents = extents,
                        .strides = strides_btd(extents)};
  const Sinusoidal sinusoidal = value_or_fail(make_sinusoidal(transformer_sinusoidal(dim)));
  ok_or_fail(fill_sinusoidal(view, sinusoidal, ConsecutivePositions{0, positions}));
  return map;
}

// N(0, 0.02²), as GPT-2 and BERT begin.
HeatMap untrained_map(std::int64_t positions, std::int64_t dim, std::uint64_t seed) {
  HeatMap map = empty_map(static_cast<std::size_t>(positions), static_cast<std::size_t>(dim));
  map.values = normal_numbers(seed, map.values.size());
  for (double& value : map.values) value *= 0.02;
  return map;
}

// Its range is that of its values.
void fit_range(HeatMap& map) {
  double largest = 0;
  for (const double value : map.values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  map.highest = largest > 0 ? largest : 1;
  map.lowest = -map.highest;
}

HeatMap rotary_map(const Frequencies& frequencies, std::int64_t positions) {
  HeatMap map = empty_map(static_cast<std::size_t>(positions), 2 * frequencies.inv_freq.size());
  auto value = map.values.begin();
  for_each_turned(frequencies, evenly(positions - 1, positions), [&](const TurnedRow& row) {
    value = std::ranges::copy(row.cos, value).out;
    value = std::ranges::copy(row.sin, value).out;
  });
  return map;
}

}  // namespace

Figure tables(const Request& request) {
  constexpr std::int64_t most_cells = std::int64_t{1} << 20;
  const Subject subject = request.subjects.empty() ? plain_subject(64, 10000) : subject_of(request);
  const std::int64_t positions = request.last.value_or(127) + 1;
  const std::int64_t dim = request.dim.value_or(64);
  if (positions > most_cells / std::max<std::int64_t>(dim, subject.frequencies.window.rotary_dim)) {
    throw Failure(ExitCode::usage, fmt::format("a heat map has at most {} cells, got {} positions",
                                               most_cells, positions));
  }
  HeatMap learned =
      request.learned ? *request.learned : untrained_map(positions, dim, request.seed);
  fit_range(learned);
  Panel rotary = panel_of(subject.name, rotary_map(subject.frequencies, positions));
  rotary.x.label = "cos of each pair, then sin";
  return {
      .name = "tables",
      .title = "Positions as tables",
      .caption =
          "A sinusoidal table and the rows of a rotary embedding are the same waves, "
          "from fast to slow; the one is added to embeddings, by the other queries and "
          "keys are turned. A learned table begins as noise.",
      .panels = {panel_of("sinusoidal", sinusoidal_map(positions, dim)),
                 panel_of(request.learned ? "learned" : "learned, untrained", std::move(learned)),
                 std::move(rotary)},
      .columns = 3};
}

}  // namespace rotary::cli::plot
