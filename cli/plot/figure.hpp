// SPDX-License-Identifier: Apache-2.0
// A figure as data with units. Text from outside is printable() already. Functions in <topic>.cpp
// make figures from the public API; renderers (gnuplot, CSV, JSON, the report's page) see only
// figures.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "apps/json.hpp"

namespace rotary::cli::plot {

enum class Scale { linear, logarithmic };

struct Axis {
  std::string label = {};  // with its unit: "wavelength (tokens)"
  Scale scale = Scale::linear;
  std::optional<double> from = {}, to = {};  // absent: from the data
  std::vector<std::string> ticks = {};       // labels for 0, 1, 2, ...; empty: numbers
};

enum class Style {
  line,
  dashed,  // a guide, such as the curve before scaling or an ideal
  points,
  steps,  // y holds until the next x
  band,   // the area between lower and y
};

// An index into a palette for colour-blind readers, modulo its size.
using Color = std::size_t;

struct Series {
  std::string name = {};  // in the legend; empty: none
  Style style = Style::line;
  std::optional<Color> color = {};     // absent: the panel's next unused colour
  std::vector<double> x = {}, y = {};  // equal lengths; a y that is not finite breaks the line
  std::vector<double> z = {};          // as long as x if the panel has a z axis, else empty
  std::vector<double> lower = {};      // as long as x for a band, else empty
};

// A line across the panel, as for the trained context, the base or 0.
struct Mark {
  enum class Direction { vertical, horizontal };
  Direction direction = Direction::vertical;
  double at = 0;
  std::string label;  // empty: none
};

// Cells of width and height 1, centred on x = 0 ... columns - 1 and y = 0 ... rows - 1.
struct HeatMap {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values = {};  // [rows][columns]; not finite: an empty cell (masked)
  std::string label = {};           // the quantity, with its unit
  double lowest = 0, highest = 1;
  enum class Colors { sequential, diverging } colors = Colors::sequential;  // diverging: about 0
};

enum class Aspect { free, equal };   // equal: units of x and y are equally long
enum class YDirection { up, down };  // down: row 0 at the top, as in a matrix

struct Panel {
  std::string title = {};  // empty if the figure's title is enough
  Axis x = {}, y = {};
  std::optional<Axis> z = {};  // present: a 3D plot
  std::vector<Series> series = {};
  std::vector<Mark> marks = {};
  std::optional<HeatMap> map = {};
  Aspect aspect = Aspect::free;
  YDirection y_direction = YDirection::up;
};

struct Figure {
  std::string name = {};  // "wavelengths", as in `rotary plot wavelengths`
  std::string title;      // a few words
  std::string caption;    // one or two sentences: what to notice
  std::vector<Panel> panels = {};
  // Panels in a row. If the last row would have one panel, the first panel gets its own row.
  std::size_t columns = 1;
};

// numbers.cpp: the numbers as JSON (docs/schema/plot.schema.json) or as CSV (RFC 4180, but lines
// end with LF). CSV has panel,series,x,y,z,lower for each point. A heat map is the series "cells":
// x is the column, y the row and z the value of a cell. Doubles round-trip. A field is empty if its
// number is absent or not finite. Text that begins like a formula gets an apostrophe in front.
void to_json(Json& json, const Figure& figure);
[[nodiscard]] std::string csv_of(const Figure& figure);

}  // namespace rotary::cli::plot
