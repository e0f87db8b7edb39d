// SPDX-License-Identifier: Apache-2.0
// Draws figures: as a script for gnuplot with its data, and as the picture that gnuplot makes. The
// program gnuplot is looked for when needed.
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

// The bytes of the picture; an SVG has title and caption for screen readers. Failure: unsupported
// without gnuplot, with the package to install.
[[nodiscard]] std::string draw(const Figure& figure, const Drawing& drawing);

// Replaces every `old` with `by`.
[[nodiscard]] std::string replaced(std::string text, std::string_view old, std::string_view by);

}  // namespace rotary::cli::plot
