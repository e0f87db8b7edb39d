// SPDX-License-Identifier: Apache-2.0
// What a panel is drawn with: its axes, its series and their legend.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/plot/gnuplot_parts.hpp"

namespace rotary::cli::plot {
namespace {

std::string bound(const std::optional<double>& value) { return value ? number(*value) : "*"; }

// 1, 2 or 5 times a power of ten, at least so much.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= least) return times * power;
  return 10 * power;
}

// Numbers with room between them: 1k for 1000, and no zeros of small ones.
std::string tick_format(const Axis& axis) {
  if (axis.scale == Scale::linear) return "%g";
  return axis.from.value_or(1) < 0.001 ? "1e%T" : "%.0s%c";
}

// A tick's text is a format, in which % stands for itself when it is written twice.
std::string plain_format(std::string_view text) {
  std::string format;
  for (const char c : text) format += c == '%' ? "%%" : std::string(1, c);
  return format;
}

// room: pixels that a number and the space to the next one take.
std::string tick_places(const Axis& axis, double pixels, double room) {
  if (!axis.ticks.empty()) {
    std::string places;
    for (std::size_t i = 0; i < axis.ticks.size(); ++i)
      places +=
          fmt::format("{}{} {}", i == 0 ? "" : ", ", single_quoted(plain_format(axis.ticks[i])), i);
    return "(" + places + ")";
  }
  if (axis.scale == Scale::logarithmic || !axis.from || !axis.to) return "autofreq";
  return number(round_step((*axis.to - *axis.from) * room / pixels));
}

struct AxisPlace {
  char name;
  double pixels;
  double room;
  bool is_reversed = false;
  // In lines: gnuplot puts the label of x lower in SVG than in PNG, and those in space on the
  // numbers.
  double label_offset = 0;
  // In letters and lines: gnuplot puts numbers in space on the axes, and where two axes meet on
  // each other.
  std::string_view tick_offset = "0, 0";
};

void write_axis(Script& script, const Axis& axis, const AxisPlace& place) {
  const std::string_view color = script.colors().text;
  const char name = place.name;
  script.line("set {}label {} offset 0, {} textcolor rgb '{}'{}", name, single_quoted(axis.label),
              place.label_offset, color, name == 'z' ? " rotate by 90" : "");
  // Where there is less than a decade to see, powers of two say more.
  const bool is_narrow = axis.from && axis.to && *axis.to < 20 * *axis.from;
  if (axis.scale == Scale::logarithmic) {
    script.line("set logscale {} {}", name, is_narrow ? 2 : 10);
  } else {
    script.line("unset logscale {}", name);
  }
  // `reverse` would be heeded by an automatic range alone.
  const std::string from = bound(axis.from);
  const std::string to = bound(axis.to);
  script.line("set {}range [{}:{}]{}", name, place.is_reversed ? to : from,
              place.is_reversed ? from : to,
              place.is_reversed && !axis.from ? " reverse" : " noreverse");
  script.line("set format {} '{}'", name, tick_format(axis));
  script.line("set {}tics {} offset {} {} textcolor rgb '{}'", name,
              name == 'x' && !axis.ticks.empty() ? "rotate by 60 right" : "norotate",
              place.tick_offset, tick_places(axis, place.pixels, place.room), color);
}

// Beside the palette of eight colours: a look comes again after 56 series alone. The first is
// solid.
constexpr std::array<std::string_view, 7> dashes = {
    "1", "(12,6)", "(3,4)", "(16,5,3,5)", "(24,6)", "(6,8)", "(16,5,3,5,3,5)"};
constexpr std::array<int, 7> point_types = {7, 9, 5, 13, 11, 15, 2};
constexpr std::string_view guide_dash = "(2,6)";

std::string line_text(const Series& series, Color look) {
  const bool is_guide = series.style == Style::dashed;
  return fmt::format("lw {} dt {}", is_guide ? 1.5 : 2,
                     is_guide ? guide_dash : dashes[look % dashes.size()]);
}

std::string style_text(const Series& series, Color look, std::string_view color) {
  switch (series.style) {
    case Style::line:
    case Style::dashed:
    case Style::steps:
      return fmt::format("with lines {} lc rgb '{}'", line_text(series, look), color);
    case Style::points:
      // A few models must be found among lines; many pairs are a line.
      return fmt::format("with points pt {} ps {} lc rgb '{}'",
                         point_types[look % point_types.size()], series.x.size() < 30 ? 0.9 : 0.5,
                         color);
    case Style::band:
      return fmt::format("with filledcurves fs transparent solid 0.35 noborder lc rgb '{}'", color);
  }
  return {};
}

// The color of each series; those without one get what no other has.
std::vector<Color> series_looks(const Panel& panel) {
  Color next = 0;
  const auto is_taken = [&] {
    return std::ranges::any_of(panel.series, [&](const Series& s) { return s.color == next; });
  };
  std::vector<Color> looks;
  for (const Series& series : panel.series) {
    while (!series.color && is_taken()) ++next;
    looks.push_back(series.color ? *series.color : next++);
  }
  return looks;
}

std::string_view color_text(const Script& script, Color look) {
  return script.colors().series[look % script.colors().series.size()];
}

// What stands before a name in the legend: 40 pixels of what is drawn.
void write_sample(Script& script, const Series& series, Color look, const Box& box) {
  const std::string_view color = color_text(script, look);
  const double middle = (box.top + box.bottom) / 2;
  switch (series.style) {
    case Style::line:
    case Style::steps:
    case Style::dashed:
      script.line(
          "set arrow from screen {:.4f}, {:.4f} to screen {:.4f}, {:.4f} nohead {} lc rgb '{}'",
          box.left, middle, box.right, middle, line_text(series, look), color);
      return;
    case Style::points:
      script.line("set label '' at screen {:.4f}, {:.4f} point pt {} ps 0.9 lc rgb '{}'",
                  (box.left + box.right) / 2, middle, point_types[look % point_types.size()],
                  color);
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

void write_axes(Script& script, const Panel& panel, const Box& plot) {
  AxisPlace x{.name = 'x', .pixels = plot.width(), .room = 50};
  AxisPlace y{.name = 'y',
              .pixels = plot.height(),
              .room = 36,
              .is_reversed = panel.y_direction == YDirection::down};
  x.label_offset = script.picture() == Picture::svg ? 0.6 : 0;
  if (panel.z) {
    x.room = y.room = plot.width() / 5;
    x.label_offset = y.label_offset = -1.4;
    x.tick_offset = "-0.6, -0.6";
    y.tick_offset = "1, -0.3";
    AxisPlace z{.name = 'z', .pixels = plot.height(), .room = 50};
    z.tick_offset = "-0.6, 0.3";
    write_axis(script, *panel.z, z);
  }
  write_axis(script, panel.x, x);
  write_axis(script, panel.y, y);
}

// $d0, $d1, ...: a block for each series. A line of NaN breaks the line that is drawn. Steps are
// lines with corners: gnuplot's own begin the dash anew at each corner.
void write_data(Script& script, const Panel& panel) {
  for (std::size_t index = 0; index < panel.series.size(); ++index) {
    const Series& series = panel.series[index];
    script.line("$d{} << EOD", index);
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (series.style == Style::steps && i > 0)
        script.line("{} {}", number(series.x[i]), number(series.y[i - 1]));
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
  const std::vector<Color> looks = series_looks(panel);
  std::string plots;
  for (std::size_t index = 0; index < panel.series.size(); ++index) {
    plots += fmt::format(
        "{}$d{} {} notitle", index == 0 ? "" : ", ", index,
        style_text(panel.series[index], looks[index], color_text(script, looks[index])));
  }
  return plots;
}

void write_legend(Script& script, const Panel& panel, const Legend& legend, const Screen& screen) {
  const std::vector<Color> looks = series_looks(panel);
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
    write_sample(script, series, looks[index],
                 {.left = screen.x(x),
                  .top = screen.y(y + 4),
                  .right = screen.x(x + 40),
                  .bottom = screen.y(y + legend_line - 4)});
    script.line("set label {} at screen {:.4f}, {:.4f} left textcolor rgb '{}'",
                single_quoted(series.name), screen.x(x + 48), screen.y(y + legend_line / 2),
                script.colors().text);
    ++entry;
  }
}

}  // namespace rotary::cli::plot
