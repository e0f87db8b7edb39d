// SPDX-License-Identifier: Apache-2.0
#include "cli/page/page.hpp"

namespace rotary::cli::page {

std::string page_with(const PagePieces& pieces, std::string_view json) {
  std::string page(pieces.before_data);
  page.reserve(page.size() + json.size() + pieces.after_data.size());
  for (const char character : json) {
    // Outside of strings JSON has none of these.
    switch (character) {
      case '<':
        page += "\\u003c";
        break;
      case '>':
        page += "\\u003e";
        break;
      case '&':
        page += "\\u0026";
        break;
      default:
        page += character;
    }
  }
  return page.append(pieces.after_data);
}

}  // namespace rotary::cli::page
