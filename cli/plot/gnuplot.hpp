// SPDX-License-Identifier: Apache-2.0
// Writes a figure as a gnuplot script with its data, or as the picture that gnuplot draws from it.
// Only the picture needs the program gnuplot.
#pragma once

#include <string>
#include <string_view>

#include "cli/plot/figure.hpp"

namespace rotary::cli::plot {

enum class Picture { svg, png };
enum class Theme { light, dark };

struct Drawing {
  Picture picture = Picture::svg;
  Theme theme = Theme::light;
};

[[nodiscard]] std::string gnuplot_script(const Figure& figure, const Drawing& drawing);

// The bytes of the picture. An SVG has title and caption for screen readers. If gnuplot is missing,
// fails as unsupported and names the package to install.
[[nodiscard]] std::string draw(const Figure& figure, const Drawing& drawing);

[[nodiscard]] std::string replaced(std::string text, std::string_view old, std::string_view by);

}  // namespace rotary::cli::plot
