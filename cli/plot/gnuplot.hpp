// SPDX-License-Identifier: Apache-2.0
// A figure as a script for gnuplot, data included, and the picture that gnuplot makes of it.
// gnuplot is a program of its own, looked for when it is needed.
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

// The bytes of the picture that gnuplot makes of the script; an SVG says the figure's title and
// caption to screen readers. Failure: unsupported where there is no gnuplot, with what to install.
[[nodiscard]] std::string draw(const Figure& figure, const Drawing& drawing);

// The text, with `by` wherever it had `old`.
[[nodiscard]] std::string replaced(std::string text, std::string_view old, std::string_view by);

}  // namespace rotary::cli::plot
