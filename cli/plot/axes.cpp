// SPDX-License-Identifier: Apache-2.0
// Positions on several axes: scores in a grid of patches, and the wavelengths of each axis.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "apps/failure.hpp"
#include "cli/plot/makers.hpp"

namespace rotary::cli::plot {
namespace {

using Pairs = std::vector<std::size_t>;

// A square grid of patches over two axes, with the query in the middle. Coordinates on other axes
// are 0.
struct Grid {
  const Frequencies& frequencies;
  std::int32_t row_axis, column_axis;
  std::int64_t side;  // patches
  double step;        // coordinate distance between neighbouring patches

  [[nodiscard]] std::int64_t middle() const { return side / 2; }
  [[nodiscard]] bool is_fractional() const { return step != 1; }
  [[nodiscard]] double offset(std::int64_t patch) const {
    return static_cast<double>(patch - middle()) * step;
  }
  [[nodiscard]] std::string_view name_of(std::int32_t axis) const {
    if (axis == row_axis) return "rows";
    return axis == column_axis ? "columns" : "";
  }
};

// An image has the axes (row, column), a video (time, row, column). The step is 1 unless the
// fastest pair of the columns then makes a full turn or more. In that case coordinates are the
// centres of equal parts of [-1, 1], as in DINOv3.
Grid grid_of(const Frequencies& frequencies, std::int64_t side) {
  const std::int32_t row_axis = frequencies.axes.count == 2 ? 0 : 1;
  const std::int32_t column_axis = row_axis + 1;
  double fastest = 0;  // of the columns
  for (std::size_t pair = 0; pair < frequencies.axes.of_pair.size(); ++pair)
    if (frequencies.axes.of_pair[pair] == column_axis)
      fastest = std::max(fastest, std::abs(frequencies.inv_freq[pair]));
  constexpr double rounded = 1e-6;
  const bool is_whole = fastest < 2 * std::numbers::pi * (1 - rounded);
  return {.frequencies = frequencies,
          .row_axis = row_axis,
          .column_axis = column_axis,
          .side = side,
          .step = is_whole ? 1 : 2 / static_cast<double>(side)};
}

// The pairs of an axis, fastest first.
Pairs pairs_of_axis(const Frequencies& frequencies, std::int32_t axis) {
  Pairs pairs;
  for (std::size_t pair = 0; pair < frequencies.axes.of_pair.size(); ++pair)
    if (frequencies.axes.of_pair[pair] == axis) pairs.push_back(pair);
  std::ranges::stable_sort(pairs, std::ranges::greater(),
                           [&](std::size_t pair) { return std::abs(frequencies.inv_freq[pair]); });
  return pairs;
}

double wavelength_of(const Frequencies& frequencies, std::size_t pair) {
  const double frequency = std::abs(frequencies.inv_freq[pair]);
  return frequency == 0 ? nothing_there : 2 * std::numbers::pi / frequency;
}

Panel pairs_and_axes(const Grid& grid) {
  const Frequencies& frequencies = grid.frequencies;
  Panel panel{
      .title = "which axis turns each pair, and how fast",
      .x = Axis{"pair of features"},
      .y = Axis{grid.is_fractional() ? "wavelength (the image is 2 wide)" : "wavelength (steps)",
                Scale::logarithmic}};
  for (std::int32_t axis = 0; axis < frequencies.axes.count; ++axis) {
    const std::string_view name = grid.name_of(axis);
    Pairs pairs = pairs_of_axis(frequencies, axis);
    std::ranges::sort(pairs);
    panel.series.push_back(
        {.name = fmt::format("axis {}{}{}", axis, name.empty() ? "" : ": ", name),
         .style = Style::points,
         .color = static_cast<Color>(axis),
         .x = {pairs.begin(), pairs.end()},
         .y = numbers_of(pairs, [&](std::size_t p) { return wavelength_of(frequencies, p); })});
  }
  return panel;
}

struct View {
  std::string title;
  Pairs pairs;
};

// The score of the query with each patch, for q = k. The given pairs have equal weight, all other
// pairs none.
HeatMap scores_of(const Grid& grid, const Pairs& pairs) {
  const auto side = static_cast<std::size_t>(grid.side);
  HeatMap map{.rows = side, .columns = side, .label = "score"};
  const Frequencies& all = grid.frequencies;
  const Frequencies plain = value_or_fail(make_frequencies(all.window, all.inv_freq, 1, all.axes));
  for (std::int64_t row = 0; row < grid.side; ++row) {
    std::vector<double> at(static_cast<std::size_t>(all.axes.count * grid.side));
    for (std::int64_t column = 0; column < grid.side; ++column) {
      at[static_cast<std::size_t>(grid.row_axis * grid.side + column)] = grid.offset(row);
      at[static_cast<std::size_t>(grid.column_axis * grid.side + column)] = grid.offset(column);
    }
    const Rotations line = value_or_fail(
        make_rotations(plain, positions_of(at, 1, all.axes.count), {.rows = RowDType::f64}));
    for (std::int64_t column = 0; column < grid.side; ++column) {
      double sum = 0;
      for (const std::size_t pair : pairs) sum += line.cos<double>(0, column)[pair];
      map.values.push_back(sum / static_cast<double>(pairs.size()));
    }
  }
  map.lowest = std::min(0.95, std::floor(20 * *std::ranges::min_element(map.values)) / 20);
  return map;
}

View view_of_pair(const Grid& grid, std::size_t pair) {
  const std::int32_t axis = grid.frequencies.axes.of_pair[pair];
  return {.title = fmt::format("pair {}: {}, a turn in {:.3g} patches", pair, grid.name_of(axis),
                               wavelength_of(grid.frequencies, pair) / grid.step),
          .pairs = {pair}};
}

std::vector<View> views_of(const Grid& grid) {
  const Frequencies& frequencies = grid.frequencies;
  const Pairs slower = pairs_of_axis(frequencies, grid.column_axis);
  // The first pair that makes at most one turn over the grid.
  const auto slow = std::ranges::find_if(slower, [&](std::size_t pair) {
    return !(wavelength_of(frequencies, pair) < static_cast<double>(grid.side) * grid.step);
  });
  Pairs rows = pairs_of_axis(frequencies, grid.row_axis);
  const std::size_t fast = rows.front();
  Pairs all(frequencies.axes.of_pair.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::string of_rows = fmt::format("all {} pairs of the rows", rows.size());
  const std::string of_all = fmt::format("all {} pairs", all.size());
  return {view_of_pair(grid, fast),
          view_of_pair(grid, slow == slower.end() ? slower.back() : *slow),
          {.title = of_rows, .pairs = std::move(rows)},
          {.title = of_all, .pairs = std::move(all)}};
}

// Patches of an image: the vision towers of Qwen2-VL and many others.
Subject usual_patches() {
  const RotarySpec spec{.head_dim = 80,
                        .base = 10000,
                        .pairing = Pairing::half,
                        .axes = Axes{.pairs = {20, 20}, .exponents = AxisExponents::own}};
  return {.name = fmt::format("patches, {}", numbers_text(spec)),
          .spec = spec,
          .frequencies = value_or_fail(make_frequencies(spec))};
}

}  // namespace

Figure axes(const Request& request) {
  const Subject subject = request.subjects.empty() ? usual_patches() : subject_of(request);
  const Frequencies& frequencies = subject.frequencies;
  require(frequencies.axes.count > 1,
          "axes needs positions of several axes, and those of {} have one: a model of images "
          "(--part vision), rope with --set axes=..., or no CONFIG (docs/theory/axes.md)",
          subject.name);
  const Grid grid = grid_of(frequencies, request.last.value_or(20) + 1);
  const std::string range =
      grid.is_fractional()
          ? fmt::format(" The {} patches of a side stand at equal distances between -1 and 1.",
                        grid.side)
          : "";
  Figure figure{
      .title = fmt::format("The axis of each pair, and the scores of a patch in a grid ({})",
                           subject.name),
      .caption =
          "Each pair turns by one coordinate alone, so pairs of the rows score all columns alike. "
          "All pairs together score highest at the patch itself, then along its row and column." +
          range,
      .panels = {pairs_and_axes(grid)},
      .columns = 2};
  const auto middle = static_cast<double>(grid.middle());
  for (const View& view : views_of(grid)) {
    HeatMap map = scores_of(grid, view.pairs);
    figure.panels.push_back(
        {.title = view.title,
         .x = Axis{"column"},
         .y = Axis{"row"},
         .series = {{.style = Style::points, .color = 7, .x = {middle}, .y = {middle}}},
         .map = std::move(map),
         .aspect = Aspect::equal,
         .y_direction = YDirection::down});
  }
  return figure;
}

}  // namespace rotary::cli::plot
