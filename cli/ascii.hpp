// SPDX-License-Identifier: Apache-2.0
// Letters without a locale.
#pragma once

#include <algorithm>
#include <string_view>

namespace rotary::cli {

// 'A' to 'Z' in lower case, every other byte as it is.
[[nodiscard]] constexpr char ascii_lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

[[nodiscard]] inline bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return ascii_lower(a) == ascii_lower(b); };
  return part.empty() ||
         std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace rotary::cli
