// SPDX-License-Identifier: Apache-2.0
// Prose in lines for a terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace rotary::cli {

// Lines of at most so many columns, broken between words, each behind so many blanks; a line end
// after the last.
[[nodiscard]] inline std::string wrapped(std::string_view text, std::size_t indent,
                                         std::size_t width) {
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
