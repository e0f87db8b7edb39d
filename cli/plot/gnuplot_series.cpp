// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plot/gnuplot_parts.hpp"

namespace rotary::cli::plot {
namespace {

std::string style_text(const Series& series, std::string_view color) {
  switch (series.style) {
    case Style::line:
      return fmt::format("with lines lw 2 lc rgb '{}'", color);
    case Style::dashed:
      return fmt::format("with lines lw 1.5 dt 2 lc rgb '{}'", color);
    case Style::points:
      // A few models must be found among lines; many pairs are a line.
      return fmt::format("with points pt 7 ps {} lc rgb '{}'", series.x.size() < 30 ? 0.7 : 0.5,
                         color);
    case Style::steps:
      return fmt::format("with steps lw 2 lc rgb '{}'", color);
    case Style::band:
      return fmt::format("with filledcurves fs transparent solid 0.35 noborder lc rgb '{}'", color);
  }
  return {};
}

// Of each series; those without one of their own get what no other has.
std::vector<std::string_view> series_colors(const Script& script, const Panel& panel) {
  const std::span<const std::string_view> palette = script.colors().series;
  Color next = 0;
  const auto is_taken = [&] {
    return std::ranges::any_of(panel.series, [&](const Series& s) { return s.color == next; });
  };
  std::vector<std::string_view> colors;
  for (const Series& series : panel.series) {
    while (!series.color && is_taken()) ++next;
    colors.push_back(palette[(series.color ? *series.color : next++) % palette.size()]);
  }
  return colors;
}

// What stands before a name in the legend: 26 pixels of what is drawn.
void write_sample(Script& script, const Series& series, std::string_view color, const Box& box) {
  const double middle = (box.top + box.bottom) / 2;
  switch (series.style) {
    case Style::line:
    case Style::steps:
    case Style::dashed:
      script.line(
          "set arrow from screen {:.4f}, {:.4f} to screen {:.4f}, {:.4f} nohead lw 2{} "
          "lc rgb '{}'",
          box.left, middle, box.right, middle, series.style == Style::dashed ? " dt 2" : "", color);
      return;
    case Style::points:
      script.line("set label '' at screen {:.4f}, {:.4f} point pt 7 ps 0.6 lc rgb '{}'",
                  (box.left + box.right) / 2, middle, color);
      return;
    case Style::band:
      script.line(
          "set object rectangle from screen {:.4f}, {:.4f} to screen {:.4f}, {:.4f} "
          "fs transparent solid 0.35 noborder fc rgb '{}'",
          box.left, box.bottom, box.right, box.top, color);
      return;
  }
}

}  // namespace

// $d0, $d1, ...: a block for each series. A line of NaN breaks the line that is drawn.
void write_data(Script& script, const Panel& panel) {
  for (std::size_t index = 0; index < panel.series.size(); ++index) {
    const Series& series = panel.series[index];
    script.line("$d{} << EOD", index);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      std::string row = number(series.x[i]);
      if (!series.lower.empty()) row += fmt::format(" {}", number(series.lower[i]));
      row += fmt::format(" {}", number(series.y[i]));
      if (!series.z.empty()) row += fmt::format(" {}", number(series.z[i]));
      script.line("{}", row);
    }
    script.line("EOD");
  }
}

std::string series_plots(const Script& script, const Panel& panel) {
  const std::vector<std::string_view> colors = series_colors(script, panel);
  std::string plots;
  for (std::size_t index = 0; index < panel.series.size(); ++index) {
    plots += fmt::format("{}$d{} {} notitle", index == 0 ? "" : ", ", index,
                         style_text(panel.series[index], colors[index]));
  }
  return plots;
}

void write_legend(Script& script, const Panel& panel, const Legend& legend, const Screen& screen) {
  const std::vector<std::string_view> colors = series_colors(script, panel);
  // A name that is too long for the picture shows its beginning.
  const double left =
      std::max(8.0, legend.center - legend.entry_width * static_cast<double>(legend.columns) / 2);
  std::size_t entry = 0;
  for (std::size_t index = 0; index < panel.series.size(); ++index) {
    const Series& series = panel.series[index];
    if (series.name.empty()) continue;
    const std::size_t column = entry % legend.columns;
    const std::size_t line = entry / legend.columns;
    const double x = left + legend.entry_width * static_cast<double>(column);
    const double y = legend.top + legend_line * static_cast<double>(line);
    write_sample(script, series, colors[index],
                 {.left = screen.x(x),
                  .top = screen.y(y + 4),
                  .right = screen.x(x + 26),
                  .bottom = screen.y(y + legend_line - 4)});
    script.line("set label {} at screen {:.4f}, {:.4f} left textcolor rgb '{}'",
                single_quoted(series.name), screen.x(x + 34), screen.y(y + legend_line / 2),
                script.colors().text);
    ++entry;
  }
}

}  // namespace rotary::cli::plot
