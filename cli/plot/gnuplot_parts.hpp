// SPDX-License-Identifier: Apache-2.0
// The parts of a script for gnuplot, for gnuplot.cpp alone.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/plot/figure.hpp"
#include "cli/plot/gnuplot.hpp"
#include "cli/plot/layout.hpp"

namespace rotary::cli::plot {

struct Colors {
  std::string_view background, text, grid;
  std::span<const std::string_view> series;
};

[[nodiscard]] Colors colors_of(Theme theme);

// Lines of gnuplot, for one theme.
class Script {
 public:
  explicit Script(const Drawing& drawing)
      : picture_(drawing.picture), colors_(colors_of(drawing.theme)) {}

  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  [[nodiscard]] Picture picture() const { return picture_; }
  [[nodiscard]] const Colors& colors() const { return colors_; }
  [[nodiscard]] std::string finish() && { return std::move(text_); }

 private:
  Picture picture_;
  Colors colors_;
  std::string text_;
};

// A text of gnuplot. Between single quotes nothing has a meaning, no backquote either, but they
// themselves, and not all of gnuplot knows them doubled: they become apostrophes.
[[nodiscard]] std::string single_quoted(std::string_view text);

// Six digits are more than a picture shows.
[[nodiscard]] std::string number(double value);

// A position of the picture as gnuplot has it: parts of it, from its lower left corner.
class Screen {
 public:
  explicit Screen(const Layout& layout) : width_(layout.width), height_(layout.height) {}
  [[nodiscard]] double x(double pixels) const { return pixels / width_; }
  [[nodiscard]] double y(double pixels) const { return 1 - pixels / height_; }

 private:
  double width_, height_;
};

// gnuplot_panel.cpp: axes, data blocks, what `plot` draws of them, and the legend of a panel's
// series.
void write_axes(Script& script, const Panel& panel, const Box& plot);
void write_data(Script& script, const Panel& panel);
[[nodiscard]] std::string series_plots(const Script& script, const Panel& panel);
void write_legend(Script& script, const Panel& panel, const Legend& legend, const Screen& screen);

}  // namespace rotary::cli::plot
