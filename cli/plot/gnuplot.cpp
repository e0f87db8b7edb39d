// SPDX-License-Identifier: Apache-2.0
// The script has settings, then each panel's data and plot command.
#include "cli/plot/gnuplot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cli/plot/layout.hpp"

namespace rotary::cli::plot {
namespace {

// The palette of Okabe and Ito (2008), for all kinds of colour vision, adapted to the background.
using Palette = std::array<std::string_view, 8>;
constexpr Palette on_light = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                              "#e69f00", "#56b4e9", "#8c6d00", "#000000"};
constexpr Palette on_dark = {"#56b4e9", "#e69f00", "#2fc79b", "#e39cc4",
                             "#f0e442", "#9aa5b1", "#ff8a4c", "#e6edf3"};

struct Colors {
  std::string_view background, text, grid;
  Palette series;
};

constexpr Colors light = {
    .background = "#ffffff", .text = "#24292f", .grid = "#d8dee4", .series = on_light};
constexpr Colors dark = {
    .background = "#0d1117", .text = "#c9d1d9", .grid = "#30363d", .series = on_dark};

// The lines of a gnuplot script. x() and y() convert pixels to gnuplot's units: fractions of the
// picture, from its lower left corner.
struct Script {
  Picture picture;
  Colors colors;
  Layout layout;
  std::string text = {};

  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text += fmt::format(format, std::forward<Arguments>(arguments)...) + '\n';
  }
  [[nodiscard]] double x(double pixels) const { return pixels / layout.width; }
  [[nodiscard]] double y(double pixels) const { return 1 - pixels / layout.height; }
};

// Only ' has a meaning in gnuplot's single quotes. Some versions do not accept '' for it, so it
// becomes a typographic apostrophe.
std::string single_quoted(std::string_view text) {
  return "'" + replaced(std::string(text), "'", "\xE2\x80\x99") + "'";
}

// Six digits are enough for a picture.
std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "NaN";
}

std::string bound(const std::optional<double>& value) { return value ? number(*value) : "*"; }

// room: pixels for a number and for the gap after it.
std::string tick_places(const Axis& axis, double pixels, double room) {
  if (!axis.ticks.empty()) {
    std::string places;
    for (std::size_t i = 0; i < axis.ticks.size(); ++i)
      // The text is a format, so % must be doubled.
      places += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                            single_quoted(replaced(axis.ticks[i], "%", "%%")), i);
    return "(" + places + ")";
  }
  if (axis.scale == Scale::logarithmic || !axis.from || !axis.to) return "autofreq";
  // The smallest step that leaves this room: 1, 2 or 5 times a power of ten.
  const double least = (*axis.to - *axis.from) * room / pixels;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= least) return number(times * power);
  return number(10 * power);
}

struct AxisPlace {
  char name;
  double pixels;
  double room;
  bool is_reversed = false;
  // Moves the label, in lines. gnuplot puts x's label lower in SVG, and 3D labels over numbers.
  double label_offset = 0;
  // Moves the numbers, in letters and lines. In 3D they would cover axes and each other.
  std::string_view tick_offset = "0, 0";
};

void write_axis(Script& script, const Axis& axis, const AxisPlace& place) {
  const std::string_view color = script.colors.text;
  const char name = place.name;
  script.line("set {}label {} offset 0, {} textcolor rgb '{}'{}", name, single_quoted(axis.label),
              place.label_offset, color, name == 'z' ? " rotate by 90" : "");
  // Within about one decade, powers of two are better ticks.
  const bool is_narrow = axis.from && axis.to && *axis.to < 20 * *axis.from;
  const bool is_logarithmic = axis.scale == Scale::logarithmic;
  script.line("{}set logscale {}{}", is_logarithmic ? "" : "un", name,
              !is_logarithmic ? ""
              : is_narrow     ? " 2"
                              : " 10");
  // gnuplot's `reverse` has an effect on automatic ranges only.
  const std::string from = bound(axis.from);
  const std::string to = bound(axis.to);
  script.line("set {}range [{}:{}]{}", name, place.is_reversed ? to : from,
              place.is_reversed ? from : to,
              place.is_reversed && !axis.from ? " reverse" : " noreverse");
  // Short numbers: 1k for 1000, an exponent for small ones.
  const double first = axis.from.value_or(1);
  const std::string_view large = first < 1 ? "%g" : "%.0s%c";
  script.line("set format {} '{}'", name, !is_logarithmic ? "%g" : first < 0.001 ? "1e%T" : large);
  script.line("set {}tics {} offset {} {} textcolor rgb '{}'", name,
              name == 'x' && !axis.ticks.empty() ? "rotate by 60 right" : "norotate",
              place.tick_offset, tick_places(axis, place.pixels, place.room), color);
}

// Eight colours and seven dashes repeat after 56 series. The first dash is solid.
constexpr std::array<std::string_view, 7> dashes = {
    "1", "(12,6)", "(3,4)", "(16,5,3,5)", "(24,6)", "(6,8)", "(16,5,3,5,3,5)"};
constexpr std::array<int, 7> point_types = {7, 9, 5, 13, 11, 15, 2};
constexpr std::string_view guide_dash = "(2,6)";

std::string style_text(const Series& series, Color look, std::string_view color) {
  if (series.style == Style::band)
    return fmt::format("with filledcurves fs transparent solid 0.35 noborder lc rgb '{}'", color);
  const bool is_guide = series.style == Style::dashed;
  if (series.style != Style::points)
    return fmt::format("with lines lw {} dt {} lc rgb '{}'", is_guide ? 1.5 : 2,
                       is_guide ? guide_dash : dashes[look % dashes.size()], color);
  // If there are few points, they are larger, to stand out among lines.
  return fmt::format("with points pt {} ps {} lc rgb '{}'", point_types[look % point_types.size()],
                     series.x.size() < 30 ? 0.9 : 0.5, color);
}

// The color of each series; series without one get unused colors.
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

void write_axes(Script& script, const Panel& panel, const Box& plot) {
  AxisPlace x{.name = 'x', .pixels = plot.width(), .room = 50};
  AxisPlace y{.name = 'y',
              .pixels = plot.height(),
              .room = 36,
              .is_reversed = panel.y_direction == YDirection::down};
  x.label_offset = script.picture == Picture::svg ? 0.6 : 0;
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

// Writes the data of each series as $d0, $d1, ...; NaN breaks a line. Steps become lines with
// corners, because gnuplot's own steps restart the dash at each corner. Returns the arguments of
// `plot`.
std::string write_series(Script& script, const Panel& panel) {
  const std::vector<Color> looks = series_looks(panel);
  std::string plots;
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
    const std::string_view color = script.colors.series[looks[index] % script.colors.series.size()];
    plots += fmt::format("{}$d{} {} {}", index == 0 ? "" : ", ", index,
                         style_text(series, looks[index], color),
                         series.name.empty() ? "notitle" : "title " + single_quoted(series.name));
  }
  return plots;
}

void write_marks(Script& script, const Panel& panel) {
  script.line("unset arrow\nunset label\nunset object");
  for (const Mark& mark : panel.marks) {
    const bool is_vertical = mark.direction == Mark::Direction::vertical;
    const auto at = [&](double part) {  // a fraction of the panel
      return is_vertical ? fmt::format("{}, graph {}", number(mark.at), part)
                         : fmt::format("graph {}, first {}", part, number(mark.at));
    };
    script.line("set arrow from {} to {} nohead dt 2 lc rgb '{}'", at(0), at(1),
                script.colors.text);
    script.line("set label {} at {} {} textcolor rgb '{}'", single_quoted(mark.label),
                at(is_vertical ? 0.5 : 0.01),
                is_vertical ? "rotate center offset 1.3, 0" : "front offset 0, 0.6",
                script.colors.text);
  }
}

// Sequential: Cividis (Nuñez et al. 2018), similar for all kinds of colour vision. Diverging: blue
// to orange, with the background's colour between.
void write_map(Script& script, const HeatMap& map) {
  if (map.colors == HeatMap::Colors::diverging) {
    script.line("set palette defined (-1 '{}', 0 '{}', 1 '{}')", script.colors.series[0],
                script.colors.background, script.colors.series[1]);
  } else {
    script.line(
        "set palette defined (0 '#00224e', 1 '#35456c', 2 '#666970', 3 '#948e77', 4 '#c8b866', "
        "5 '#fee838')");
  }
  script.line("set cbrange [{}:{}]", number(map.lowest), number(map.highest));
  script.line("$map << EOD");
  for (std::size_t row = 0; row < map.rows; ++row) {
    std::string cells;
    for (std::size_t column = 0; column < map.columns; ++column) {
      if (column > 0) cells += ' ';
      const double value = map.values[row * map.columns + column];
      cells += std::isfinite(value) ? fmt::format("{:.3g}", value) : "NaN";
    }
    script.line("{}", cells);
  }
  script.line("EOD");
}

void write_margins(Script& script, const Box& box) {
  script.line("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}", script.x(box.left),
              script.x(box.right));
  script.line("set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}", script.y(box.bottom),
              script.y(box.top));
}

// Draws the scale as a heat map: gnuplot's own has 128 polygons, more than the rest of an SVG.
void write_scale(Script& script, const HeatMap& map, const Box& box) {
  constexpr int cells = 48;
  const double step = (map.highest - map.lowest) / cells;
  write_margins(script, box);
  script.line("unset title\nunset xlabel\nunset ylabel\nunset xtics\nunset ytics");
  script.line("unset arrow\nunset label\nunset object");
  script.line("set xrange [-0.5:1.5]\nset yrange [{0}:{1}]\nset y2range [{0}:{1}]",
              number(map.lowest), number(map.highest));
  script.line("set y2tics {} textcolor rgb '{}'",
              tick_places({.from = map.lowest, .to = map.highest}, box.height(), 50),
              script.colors.text);
  script.line("set y2label {} offset -1, 0 textcolor rgb '{}'", single_quoted(map.label),
              script.colors.text);
  script.line("$scale << EOD");
  for (int cell = 0; cell < cells; ++cell)  // an image needs at least two columns
    script.line("{0} {0}", number(map.lowest + (cell + 0.5) * step));
  script.line("EOD");
  script.line("plot $scale matrix using 1:({} + ($2 + 0.5) * {}):3 with image notitle",
              number(map.lowest), number(step));
  script.line("unset y2tics\nunset y2label");
}

void write_panel(Script& script, const Panel& panel, const Place& place) {
  const Box& plot = place.plot;
  if (place.is_in_space)  // gnuplot fits the box and its numbers into this area
    script.line("set origin {:.4f}, {:.4f}\nset size {:.4f}, {:.4f}", script.x(plot.left),
                script.y(plot.bottom), script.x(plot.width()),
                script.y(plot.top) - script.y(plot.bottom));
  else
    write_margins(script, plot);
  // gnuplot puts titles higher in SVG, so this moves them down.
  script.line("set title {} textcolor rgb '{}' offset 0, {}", single_quoted(panel.title),
              script.colors.text, script.picture == Picture::svg ? -0.8 : -0.3);
  write_axes(script, panel, plot);
  write_marks(script, panel);
  if (const auto& legend = place.legend) {
    // If a name is too wide for the picture, its beginning stays visible.
    const bool fits = legend->width < script.layout.width;
    script.line(
        "set key at screen {:.4f}, {:.4f} {} top vertical maxrows {} reverse Left samplen 4 "
        "textcolor rgb '{}'",
        script.x(fits ? legend->center : 8), script.y(legend->top), fits ? "center" : "left",
        legend->lines, script.colors.text);
  } else {
    script.line("unset key");
  }
  const std::string lines = write_series(script, panel);
  if (panel.map) write_map(script, *panel.map);
  script.line("{} grid", panel.map ? "unset" : "set");
  std::string plots = panel.map ? "$map matrix with image notitle" : "";
  if (!lines.empty()) plots += (plots.empty() ? "" : ", ") + lines;
  script.line("{} {}", panel.z ? "splot" : "plot", plots);
  if (panel.map && place.colors) write_scale(script, *panel.map, *place.colors);
}

}  // namespace

std::string gnuplot_script(const Figure& figure, const Drawing& drawing) {
  Figure complete = figure;
  for (Panel& panel : complete.panels) panel = with_ranges(std::move(panel));
  Script script{.picture = drawing.picture,
                .colors = drawing.theme == Theme::dark ? dark : light,
                .layout = layout_of(complete)};
  // The font is 14 pixels, or 10.5 points in PNG. PNG has twice the pixels, for dense screens.
  const bool is_svg = drawing.picture == Picture::svg;
  const int times = is_svg ? 1 : 2;
  script.line("set terminal {} size {},{} background rgb '{}' font 'sans-serif,{}' noenhanced{}",
              is_svg ? "svg" : "pngcairo", times * script.layout.width,
              times * script.layout.height, script.colors.background, is_svg ? "14" : "10.5",
              is_svg ? "" : " fontscale 2 linewidth 2 dashlength 2 pointscale 3");
  script.line("set encoding utf8\nset border lw 0.8 lc rgb '{}'", script.colors.text);
  script.line("set grid lc rgb '{}' lt 1 lw 0.7", script.colors.grid);
  script.line("unset colorbox\nset xyplane at 0\nset view 72, 40, 1, 1.5");
  script.line("set multiplot title {} textcolor rgb '{}'", single_quoted(figure.title),
              script.colors.text);
  for (std::size_t index = 0; index < complete.panels.size(); ++index)
    write_panel(script, complete.panels[index], script.layout.places[index]);
  script.line("unset multiplot");
  return std::move(script.text);
}

}  // namespace rotary::cli::plot
