// SPDX-License-Identifier: Apache-2.0
// The page of rotary report: one HTML file with its style, its script, the chart library and the
// data inside, which asks for nothing else. Its pieces are files in page/, embedded by embed.cmake.
#pragma once

#include <string>
#include <string_view>

namespace rotary::cli::page {

// The page up to its data, and after them. Written by embed.cmake.
[[nodiscard]] std::string_view page_before_data() noexcept;
[[nodiscard]] std::string_view page_after_data() noexcept;

// The page with a JSON document as its data. No text in it, whoever wrote it, can end the element
// that holds it: what HTML could read as markup is escaped as JSON allows.
[[nodiscard]] std::string page_with(std::string_view json);

}  // namespace rotary::cli::page
