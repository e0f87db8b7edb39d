// SPDX-License-Identifier: Apache-2.0
// A figure as a script for gnuplot, data included, and the picture that gnuplot makes of it.
// gnuplot is a program of its own, looked for when it is needed.
#pragma once

#include <string>

#include "cli/plot/figure.hpp"

namespace rotary::cli::plot {

enum class Picture { svg, png };
enum class Theme { light, dark };

struct Drawing {
  Picture picture = Picture::svg;
  Theme theme = Theme::light;
};

[[nodiscard]] std::string gnuplot_script(const Figure& figure, const Drawing& drawing);

// The bytes of the picture that the script draws. Failure: unsupported where there is no gnuplot,
// with what to install.
[[nodiscard]] std::string run_gnuplot(const std::string& script);

// Both; an SVG says the figure's title and caption to screen readers.
[[nodiscard]] std::string draw(const Figure& figure, const Drawing& drawing);

}  // namespace rotary::cli::plot
