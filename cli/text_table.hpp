// SPDX-License-Identifier: Apache-2.0
// Text for a terminal: aligned columns, and wrapped prose.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::cli {

enum class Align { right, left };

// A column has the largest width of its title, its cells and least_width.
struct Column {
  std::string title;
  std::size_t least_width = 0;
  Align align = Align::right;
};

[[nodiscard]] inline Column left(std::string title, std::size_t least_width = 0) {
  return {std::move(title), least_width, Align::left};
}

// Called twice for each cell, so that a table of millions of numbers stores no cells.
using Cell = std::function<std::string(std::size_t row, std::size_t column)>;

// Titles, then a line per row, without trailing blanks.
[[nodiscard]] std::string text_table(const std::vector<Column>& columns, std::size_t rows,
                                     const Cell& cell, std::string_view between = "  ");

using TextRow = std::vector<std::string>;
[[nodiscard]] std::string text_table(const std::vector<Column>& columns,
                                     const std::vector<TextRow>& rows);

// Breaks the text into lines of at most `width` columns, each after `indent` blanks.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace rotary::cli
