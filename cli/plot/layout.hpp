// SPDX-License-Identifier: Apache-2.0
// Places the parts of a figure so that labels, legends and colour scales never overlap, as they do
// in gnuplot's own layout of several panels.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/plot/figure.hpp"

namespace rotary::cli::plot {

// In pixels from the picture's upper left corner.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  [[nodiscard]] double width() const { return right - left; }
  [[nodiscard]] double height() const { return bottom - top; }
};

struct Legend {
  double center = 0, top = 0;  // of the upper edge, pixels
  std::size_t lines = 1;
  double width = 0;  // pixels
};

struct Place {
  Box plot;  // within the axes; in space with them and their numbers
  bool is_in_space = false;
  std::optional<Legend> legend = {};
  std::optional<Box> colors = {};  // the scale of a heat map
};

struct Layout {
  double width = 800, height = 0;
  std::vector<Place> places;  // of the panels
};

// Requires panels whose ranges with_ranges completed.
[[nodiscard]] Layout layout_of(const Figure& figure);

// Completes the ranges: from the data, or to the edges of a heat map's cells.
[[nodiscard]] Panel with_ranges(Panel panel);

}  // namespace rotary::cli::plot
