// SPDX-License-Identifier: Apache-2.0
// A figure as data, with units, without any drawing. Text from outside is printable() already.
// Functions of <topic>.cpp make figures from the public API; renderers (gnuplot, CSV, JSON, the
// page of a report) see figures alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/json.hpp"

namespace rotary::cli::plot {

enum class Scale { linear, logarithmic };

struct Axis {
  std::string label = {};  // with its unit: "wavelength (tokens)"
  Scale scale = Scale::linear;
  std::optional<double> from = {}, to = {};  // absent: from the data
  std::vector<std::string> ticks = {};       // names of 0, 1, 2, ...; empty: numbers
};

enum class Style {
  line,
  dashed,  // a guide: before scaling, an ideal
  points,
  steps,  // y holds from its x to the next one
  band,   // from lower to y
};

// Index into a palette of colours that colour-blind readers can tell apart, modulo its size.
using Color = std::size_t;

struct Series {
  std::string name = {};  // in the legend; empty: not in it
  Style style = Style::line;
  std::optional<Color> color = {};     // absent: the next unused one of the panel
  std::vector<double> x = {}, y = {};  // of one length; a y that is not finite breaks the line
  std::vector<double> z = {};          // of the same length in a panel with a z axis, else empty
  std::vector<double> lower = {};      // of the same length for a band, else empty
};

// A line across the panel: the trained context, the base, 0.
struct Mark {
  enum class Direction { vertical, horizontal };
  Direction direction = Direction::vertical;
  double at = 0;
  std::string label;  // empty: none
};

// Cells one unit wide around x = 0 ... columns - 1, and y = 0 ... rows - 1.
struct HeatMap {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values = {};  // [rows][columns]; not finite: an empty cell (masked)
  std::string label = {};           // what a value is, with its unit
  double lowest = 0, highest = 1;
  enum class Colors { sequential, diverging } colors = Colors::sequential;  // diverging: about 0
};

enum class Aspect { free, equal };   // equal: a unit of x is as long as one of y
enum class YDirection { up, down };  // down: rows of a matrix, the first one on top

struct Panel {
  std::string title = {};  // empty where the figure's says it all
  Axis x = {}, y = {};
  std::optional<Axis> z = {};  // given: a picture in space
  std::vector<Series> series = {};
  std::vector<Mark> marks = {};
  std::optional<HeatMap> map = {};
  Aspect aspect = Aspect::free;
  YDirection y_direction = YDirection::up;
};

struct Figure {
  std::string name = {};  // "wavelengths", as in `rotary plot wavelengths`
  std::string title;      // a few words
  std::string caption;    // one or two sentences: what there is to see
  std::vector<Panel> panels = {};
  // Panels in a row; if one is left over, the first panel gets a row of its own.
  std::size_t columns = 1;
};

// numbers.cpp: the numbers as JSON (docs/schema/plot.schema.json) or CSV (RFC 4180 with line ends
// of one byte): panel,series,x,y,z,lower for each point. Cells of a heat map have the series
// "cells", x column, y row, z value. Doubles round-trip; absent or not finite is empty. A text like
// a formula gets an apostrophe in front.
void to_json(Json& json, const Figure& figure);
[[nodiscard]] std::string csv_of(const Figure& figure);

}  // namespace rotary::cli::plot
