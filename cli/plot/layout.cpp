// SPDX-License-Identifier: Apache-2.0
#include "cli/plot/layout.hpp"

#include <algorithm>
#include <cmath>

namespace rotary::cli::plot {
namespace {

// Pixels.
constexpr double scale_width = 90;  // of a heat map's scale, with its label
constexpr double title_height = 36;
constexpr double edge = 10;
constexpr double legend_line = 19;
constexpr double letter_width = 7.2;  // of a sans-serif font of 14 pixels, rounded up

double longest(const std::vector<std::string>& names) {
  const auto begins_letter = [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; };
  std::ptrdiff_t most = 0;  // characters in UTF-8
  for (const std::string& name : names)
    most = std::max(most, std::ranges::count_if(name, begins_letter));
  return letter_width * static_cast<double>(most);
}

std::vector<std::string> legend_names(const Panel& panel) {
  std::vector<std::string> names;
  for (const Series& series : panel.series)
    if (!series.name.empty()) names.push_back(series.name);
  return names;
}

// True if the first panel's legend has the names of all panels.
bool shares_legend(const Figure& figure) {
  const std::vector<std::string> first = legend_names(figure.panels.front());
  const auto is_known = [&](const std::string& name) {
    return std::ranges::find(first, name) != first.end();
  };
  return figure.panels.size() > 1 && std::ranges::all_of(figure.panels, [&](const Panel& panel) {
           const std::vector<std::string> names = legend_names(panel);
           return !names.empty() && std::ranges::all_of(names, is_known);
         });
}

// The size of a legend within a given width. All members are 0 without names.
struct LegendSize {
  std::size_t lines = 0;
  double width = 0, height = 0;
};

LegendSize legend_size(const std::vector<std::string>& names, double width) {
  if (names.empty()) return {};
  const double entry = 1.25 * longest(names) + 72;  // as gnuplot computes it, with the sample line
  const std::size_t fitting = std::max(std::size_t{1}, static_cast<std::size_t>(width / entry));
  const std::size_t lines = (names.size() + fitting - 1) / fitting;
  const std::size_t columns = (names.size() + lines - 1) / lines;
  return {.lines = lines,
          .width = entry * static_cast<double>(columns),
          .height = legend_line * static_cast<double>(lines) + 6};
}

Legend legend_at(const LegendSize& size, double center, double top) {
  return {.center = center, .top = top, .lines = size.lines, .width = size.width};
}

bool shares_scale(const Figure& figure) {
  const auto& first = figure.panels.front().map;
  return figure.panels.size() > 1 && std::ranges::all_of(figure.panels, [&](const Panel& panel) {
           return first && panel.map && panel.map->label == first->label &&
                  panel.map->lowest == first->lowest && panel.map->highest == first->highest;
         });
}

// The space for labels, numbers and title on each side of a panel's axes.
Box margins_of(const Panel& panel) {
  if (panel.z) return {.left = 10, .top = -30, .right = 10, .bottom = 0};
  Box margins{.left = 82, .top = panel.title.empty() ? 6.0 : 28.0, .right = 24, .bottom = 56};
  if (!panel.y.ticks.empty()) margins.left = longest(panel.y.ticks) + 24;
  if (!panel.x.ticks.empty()) margins.bottom = 0.87 * longest(panel.x.ticks) + 22;
  return margins;
}

double span(const Axis& axis) { return axis.to.value_or(1) - axis.from.value_or(0); }

double panel_height(const Panel& panel, const Figure& figure, double width) {
  const Box margins = margins_of(panel);
  if (panel.aspect == Aspect::equal) {
    const double plot_width = width - margins.left - margins.right;
    return plot_width * span(panel.y) / span(panel.x) + margins.top + margins.bottom;
  }
  if (panel.z) return 540;
  if (figure.panels.size() == 1) return 400;
  if (figure.columns == 1) return 280;
  return figure.columns == 2 ? 340 : 300;
}

// room: pixels for legends under the panels of a row.
Place place_of(const Panel& panel, const Box& cell, const LegendSize& legend, double room) {
  const Box margins = margins_of(panel);
  Place place{.plot = {.left = cell.left + margins.left,
                       .top = cell.top + margins.top,
                       .right = cell.right - margins.right,
                       .bottom = cell.bottom - margins.bottom - room},
              .is_in_space = panel.z.has_value()};
  if (panel.aspect == Aspect::equal) {  // the largest centred box with equally long units
    Box& box = place.plot;
    const double ratio = span(panel.x) / span(panel.y);
    const double width = std::min(box.width(), box.height() * ratio);
    box.left = (box.left + box.right - width) / 2;
    box.right = box.left + width;
    box.bottom = box.top + width / ratio;
  }
  if (legend.height > 0)
    place.legend = legend_at(legend, (cell.left + cell.right) / 2, cell.bottom - room);
  return place;
}

Box scale_beside(const Box& plot) {
  return {.left = plot.right + 8, .top = plot.top, .right = plot.right + 18, .bottom = plot.bottom};
}

void extend(Axis& axis, const std::vector<double>& values) {
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    axis.from = std::min(axis.from.value_or(value), value);
    axis.to = std::max(axis.to.value_or(value), value);
  }
}

// True if the first panel has its own row, which lets the other panels fill their rows.
bool has_wide_panel(const Figure& figure) {
  return figure.columns > 1 && figure.panels.size() % figure.columns == 1;
}

// The area of a panel with its labels. All rows are equally high.
Box cell_of(const Figure& figure, std::size_t index, double width, double height) {
  const bool is_wide = index == 0 && has_wide_panel(figure);
  const std::size_t place =
      index > 0 && has_wide_panel(figure) ? index + figure.columns - 1 : index;
  const std::size_t row = place / figure.columns;
  const double left = width * static_cast<double>(place % figure.columns);
  const double top = title_height + height * static_cast<double>(row);
  const double columns = is_wide ? static_cast<double>(figure.columns) : 1;
  return {.left = left, .top = top, .right = left + columns * width, .bottom = top + height};
}

}  // namespace

Panel with_ranges(Panel panel) {
  Axis of_data{.label = {}};
  bool has_points = false;
  for (const Series& series : panel.series) {
    extend(of_data, series.x);
    has_points = has_points || series.style == Style::points;
  }
  if (has_points && of_data.from) {  // room for whole points at the edges
    if (panel.x.scale == Scale::linear) {
      const double space = 0.012 * (*of_data.to - *of_data.from);
      *of_data.from -= space;
      *of_data.to += space;
    } else {
      *of_data.to *= 1.1;
    }
  }
  if (!panel.x.from) panel.x.from = of_data.from;
  if (!panel.x.to) panel.x.to = of_data.to;
  if (panel.y.scale == Scale::logarithmic) {
    Axis values{.label = {}};
    for (const Series& series : panel.series) extend(values, series.y);
    for (const Mark& mark : panel.marks)
      if (mark.direction == Mark::Direction::horizontal) extend(values, {mark.at});
    if (!panel.y.from && values.from && *values.from > 0) panel.y.from = *values.from / 1.2;
    if (!panel.y.to && values.to) panel.y.to = *values.to * 1.2;
  }
  if (panel.map) {
    panel.x.from = -0.5;
    panel.x.to = static_cast<double>(panel.map->columns) - 0.5;
    panel.y.from = -0.5;
    panel.y.to = static_cast<double>(panel.map->rows) - 0.5;
  }
  return panel;
}

Layout layout_of(const Figure& figure) {
  Layout layout;
  const bool has_one_legend = shares_legend(figure);
  const bool has_one_scale = shares_scale(figure);
  const double all = layout.width - edge - (has_one_scale ? scale_width - 24 : 0);
  const double width = all / static_cast<double>(figure.columns);
  const auto beside = [&](const Panel& panel) {  // the pixels of the panel's own scale
    return panel.map && !has_one_scale ? scale_width - 24 : 0;
  };
  const auto legend_of = [&](const Panel& panel, double room) {
    return has_one_legend ? LegendSize{} : legend_size(legend_names(panel), room);
  };
  double height = 0;
  for (const Panel& panel : figure.panels) {
    const double own = panel_height(panel, figure, width - beside(panel));
    height = std::max(height, own + legend_of(panel, width).height);
  }
  std::vector<Box> cells;
  for (std::size_t index = 0; index < figure.panels.size(); ++index)
    cells.push_back(cell_of(figure, index, width, height));
  for (std::size_t index = 0; index < cells.size(); ++index) {
    const Panel& panel = figure.panels[index];
    Box cell = cells[index];
    double room = 0;
    for (std::size_t other = 0; other < cells.size(); ++other) {
      if (cells[other].top != cell.top) continue;
      room = std::max(room, legend_of(figure.panels[other], cells[other].width()).height);
    }
    layout.height = std::max(layout.height, cell.bottom + edge);
    const LegendSize legend = legend_of(panel, cell.width());
    cell.right -= beside(panel);
    layout.places.push_back(place_of(panel, cell, legend, room));
    Place& place = layout.places.back();
    if (panel.map && !has_one_scale) place.colors = scale_beside(place.plot);
  }
  if (has_one_scale) {
    Box plots = layout.places.back().plot;
    plots.top = layout.places.front().plot.top;
    plots.right = all - 24;
    layout.places.back().colors = scale_beside(plots);
  }
  if (has_one_legend) {
    const LegendSize size = legend_size(legend_names(figure.panels.front()), layout.width - 40);
    layout.places.front().legend = legend_at(size, layout.width / 2, layout.height - 6);
    layout.height += size.height;
  }
  return layout;
}

}  // namespace rotary::cli::plot
