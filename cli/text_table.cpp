// SPDX-License-Identifier: Apache-2.0
#include "cli/text_table.hpp"

#include <algorithm>

namespace rotary::cli {

std::string text_table(const std::vector<Column>& columns, std::size_t rows, const Cell& cell,
                       std::string_view between) {
  std::vector<std::size_t> widths;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    widths.push_back(std::max(columns[at].title.size(), columns[at].least_width));
    for (std::size_t row = 0; row < rows; ++row)
      widths[at] = std::max(widths[at], cell(row, at).size());
  }
  std::string text;
  const auto add_line = [&](const auto& text_of) {
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const std::string shown = text_of(at);
      const std::string blanks(widths[at] - shown.size(), ' ');
      if (at != 0) text += between;
      text += columns[at].align == Align::right ? blanks + shown : shown + blanks;
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  add_line([&](std::size_t at) { return columns[at].title; });
  for (std::size_t row = 0; row < rows; ++row)
    add_line([&](std::size_t at) { return cell(row, at); });
  return text;
}

std::string text_table(const std::vector<Column>& columns, const std::vector<TextRow>& rows) {
  return text_table(columns, rows.size(),
                    [&](std::size_t row, std::size_t column) { return rows[row][column]; });
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines(indent, ' ');
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > indent && column + 1 + word.size() > width) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) lines += ' ';
    column += word.size() + (column > indent ? 1 : 0);
    lines += word;
  }
  return lines + '\n';
}

}  // namespace rotary::cli
