// SPDX-License-Identifier: Apache-2.0
// Pages with data: each is one HTML file with its style, its scripts, the chart library and the
// data inside, which asks for nothing else. What all of them share is in this folder; embed.cmake
// puts it together with the pieces of one page.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli::page {

// embed.cmake cuts a page in two: the text up to its data, and after them.
struct PagePieces {
  std::string_view before_data;
  std::string_view after_data;
};

// The page with a JSON document as its data. No text in it, whoever wrote it, can end the element
// that holds it: what HTML could read as markup is escaped as JSON allows.
[[nodiscard]] std::string page_with(const PagePieces& pieces, std::string_view json);

}  // namespace rotary::cli::page
