// SPDX-License-Identifier: Apache-2.0
// The script: settings, then each panel with its data before it.
#include "cli/plot/gnuplot.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "cli/plot/gnuplot_parts.hpp"
#include "cli/plot/layout.hpp"

namespace rotary::cli::plot {
namespace {

// Okabe and Ito 2008, whose colours differ for every kind of colour vision; those too pale for the
// background are left out, its contrary comes last.
constexpr std::array<std::string_view, 8> on_light = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                      "#e69f00", "#56b4e9", "#8c6d00", "#000000"};
constexpr std::array<std::string_view, 8> on_dark = {"#56b4e9", "#e69f00", "#2fc79b", "#e39cc4",
                                                     "#f0e442", "#9aa5b1", "#ff8a4c", "#e6edf3"};

void write_marks(Script& script, const Panel& panel) {
  script.line("unset arrow\nunset label\nunset object");
  for (const Mark& mark : panel.marks) {
    const std::string at = number(mark.at);
    const std::string text = single_quoted(mark.label);
    if (mark.direction == Mark::Direction::vertical) {
      script.line("set arrow from {}, graph 0 to {}, graph 1 nohead dt 2 lc rgb '{}'", at, at,
                  script.colors().text);
      script.line("set label {} at {}, graph 0.5 rotate center offset 1.3, 0 textcolor rgb '{}'",
                  text, at, script.colors().text);
    } else {
      script.line("set arrow from graph 0, first {} to graph 1, first {} nohead dt 2 lc rgb '{}'",
                  at, at, script.colors().text);
      script.line("set label {} at graph 0.01, first {} front offset 0, 0.6 textcolor rgb '{}'",
                  text, at, script.colors().text);
    }
  }
}

// Cividis (Nuñez et al. 2018), which looks alike to every kind of colour vision; blue and orange
// about the colour of the background.
void write_map(Script& script, const HeatMap& map) {
  if (map.colors == HeatMap::Colors::diverging) {
    script.line("set palette defined (-1 '{}', 0 '{}', 1 '{}')", script.colors().series[0],
                script.colors().background, script.colors().series[1]);
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

void write_margins(Script& script, const Box& box, const Screen& screen) {
  script.line("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}", screen.x(box.left),
              screen.x(box.right));
  script.line("set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}", screen.y(box.bottom),
              screen.y(box.top));
}

// A heat map of its own: gnuplot's own scale is a polygon for each of 128 colours, more than
// all else in an SVG.
void write_scale(Script& script, const HeatMap& map, const Box& box, const Screen& screen) {
  constexpr int cells = 48;
  const double step = (map.highest - map.lowest) / cells;
  write_margins(script, box, screen);
  script.line("unset title\nunset xlabel\nunset ylabel\nunset xtics\nunset ytics");
  script.line("unset arrow\nunset label\nunset object");
  script.line("set xrange [-0.5:1.5]\nset yrange [{0}:{1}]\nset y2range [{0}:{1}]",
              number(map.lowest), number(map.highest));
  script.line("set y2tics autofreq textcolor rgb '{}'", script.colors().text);
  script.line("set y2label {} offset -1, 0 textcolor rgb '{}'", single_quoted(map.label),
              script.colors().text);
  script.line("$scale << EOD");
  for (int cell = 0; cell < cells; ++cell) {
    const std::string value = number(map.lowest + (cell + 0.5) * step);
    script.line("{} {}", value, value);  // an image has two columns at least
  }
  script.line("EOD");
  script.line("plot $scale matrix using 1:({} + ($2 + 0.5) * {}):3 with image notitle",
              number(map.lowest), number(step));
  script.line("unset y2tics\nunset y2label");
}

void write_place(Script& script, const Place& place, const Screen& screen) {
  if (place.is_in_space) {  // whose box gnuplot fits in, numbers included
    script.line("set origin {:.4f}, {:.4f}\nset size {:.4f}, {:.4f}", screen.x(place.plot.left),
                screen.y(place.plot.bottom), screen.x(place.plot.width()),
                screen.y(place.plot.top) - screen.y(place.plot.bottom));
    return;
  }
  write_margins(script, place.plot, screen);
}

void write_panel(Script& script, const Panel& panel, const Place& place, const Screen& screen) {
  // Lower in SVG, whose titles gnuplot puts higher.
  script.line("set title {} textcolor rgb '{}' offset 0, {}", single_quoted(panel.title),
              script.colors().text, script.picture() == Picture::svg ? -0.8 : -0.3);
  write_axes(script, panel, place.plot);
  write_marks(script, panel);
  if (place.legend) write_legend(script, panel, *place.legend, screen);
  write_data(script, panel);
  if (panel.map) write_map(script, *panel.map);
  script.line("{} grid", panel.map ? "unset" : "set");
  std::string plots = panel.map ? "$map matrix with image notitle" : "";
  if (!panel.series.empty()) plots += (plots.empty() ? "" : ", ") + series_plots(script, panel);
  script.line("{} {}", panel.z ? "splot" : "plot", plots);
  if (panel.map && place.colors) write_scale(script, *panel.map, *place.colors, screen);
}

// Letters of 14 pixels: points of PNG are 4/3 of them. A PNG has twice the pixels, for screens
// whose points are several pixels and for print.
void write_settings(Script& script, const Layout& layout, const Drawing& drawing) {
  const Colors& colors = script.colors();
  const bool is_svg = drawing.picture == Picture::svg;
  const int times = is_svg ? 1 : 2;
  script.line("set terminal {} size {},{} background rgb '{}' font 'sans-serif,{}' noenhanced{}",
              is_svg ? "svg" : "pngcairo", times * layout.width, times * layout.height,
              colors.background, is_svg ? "14" : "10.5",
              is_svg ? "" : " fontscale 2 linewidth 2 dashlength 2 pointscale 3");
  script.line("set encoding utf8");
  script.line("set border lw 0.8 lc rgb '{}'", colors.text);
  script.line("set grid lc rgb '{}' lt 1 lw 0.7", colors.grid);
  script.line("unset key");
  script.line("unset colorbox");
  script.line("set xyplane at 0");
  script.line("set view 72, 40, 1, 1.5");
}

}  // namespace

Colors colors_of(Theme theme) {
  if (theme == Theme::dark)
    return {.background = "#0d1117", .text = "#c9d1d9", .grid = "#30363d", .series = on_dark};
  return {.background = "#ffffff", .text = "#24292f", .grid = "#d8dee4", .series = on_light};
}

std::string single_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "\xE2\x80\x99";
    } else {
      result += c;
    }
  }
  return result + '\'';
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "NaN";
}

std::string gnuplot_script(const Figure& figure, const Drawing& drawing) {
  Figure complete = figure;
  for (Panel& panel : complete.panels) panel = with_ranges(std::move(panel));
  const Layout layout = layout_of(complete);
  Script script(drawing);
  write_settings(script, layout, drawing);
  script.line("set multiplot title {} textcolor rgb '{}'", single_quoted(figure.title),
              script.colors().text);
  for (std::size_t index = 0; index < complete.panels.size(); ++index) {
    write_place(script, layout.places[index], Screen(layout));
    write_panel(script, complete.panels[index], layout.places[index], Screen(layout));
  }
  script.line("unset multiplot");
  return std::move(script).finish();
}

}  // namespace rotary::cli::plot
