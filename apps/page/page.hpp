// SPDX-License-Identifier: Apache-2.0
// Pages with data. Each is one HTML file that contains its style, scripts, chart library and data,
// and loads nothing else. This folder has the shared parts; embed.cmake joins them with those of a
// page.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli::page {

// embed.cmake cuts a page in two: before its data, and after.
struct PagePieces {
  std::string_view before_data;
  std::string_view after_data;
};

// The page with a JSON document as its data. Characters that HTML could read as markup are escaped
// as in JSON, so no text can end the element that contains it.
[[nodiscard]] std::string page_with(const PagePieces& pieces, std::string_view json);

}  // namespace rotary::cli::page
