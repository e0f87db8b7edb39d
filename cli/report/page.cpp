// SPDX-License-Identifier: Apache-2.0
#include "cli/report/page.hpp"

namespace rotary::cli::page {

std::string page_with(std::string_view json) {
  std::string page(page_before_data());
  page.reserve(page.size() + json.size() + page_after_data().size());
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
  return page.append(page_after_data());
}

}  // namespace rotary::cli::page
