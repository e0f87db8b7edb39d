// SPDX-License-Identifier: Apache-2.0
// Places the parts of a figure so that labels, legends and colour scales never overlap. gnuplot's
// own layout of several panels lets them overlap.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/plot/figure.hpp"

namespace rotary::cli::plot {

// A rectangle, in pixels from the picture's upper left corner.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  [[nodiscard]] double width() const { return right - left; }
  [[nodiscard]] double height() const { return bottom - top; }
};

struct Legend {
  double center = 0, top = 0;  // the middle of the upper edge, in pixels
  std::size_t lines = 1;
  double width = 0;  // pixels
};

struct Place {
  Box plot;  // the area inside the axes; in 3D the axes and numbers, too
  bool is_in_space = false;
  std::optional<Legend> legend = {};
  std::optional<Box> colors = {};  // the colour scale of a heat map
};

struct Layout {
  double width = 800, height = 0;
  std::vector<Place> places;  // one for each panel
};

// Panels must come from with_ranges().
[[nodiscard]] Layout layout_of(const Figure& figure);

// Fills in missing ranges of x and of a logarithmic y from the data. A heat map sets both ranges.
[[nodiscard]] Panel with_ranges(Panel panel);

}  // namespace rotary::cli::plot
