// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace rotary::cli::plot
