// SPDX-License-Identifier: Apache-2.0
#include "apps/page/page.hpp"

#include <fmt/format.h>

#include <iterator>

namespace rotary::cli::page {

std::string page_with(const PagePieces& pieces, std::string_view json) {
  std::string page(pieces.before_data);
  page.reserve(page.size() + json.size() + pieces.after_data.size());
  // JSON has '<', '>' and '&' only in strings, where a \u escape means the same.
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      fmt::format_to(std::back_inserter(page), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      page += c;
    }
  }
  return page.append(pieces.after_data);
}

}  // namespace rotary::cli::page
