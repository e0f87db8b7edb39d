// SPDX-License-Identifier: Apache-2.0
// Lists of words, separated by spaces: "llama qwen2".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace rotary {

template <class Use>
constexpr void for_each_word(std::string_view words, Use use) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) use(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

// The word in the list; empty if the list lacks it.
[[nodiscard]] constexpr std::string_view find_word(std::string_view words, std::string_view word) {
  std::string_view found;
  for_each_word(words, [&](std::string_view each) {
    if (each == word) found = each;
  });
  return found;
}

[[nodiscard]] constexpr bool has_word(std::string_view words, std::string_view word) {
  return !find_word(words, word).empty();
}

// The rows of a table, repeated for every word in their model_type.
template <const auto& table>
inline constexpr auto row_for_each_word = [] {
  constexpr std::size_t count = [] {
    std::size_t words = 0;
    for (const auto& row : table) for_each_word(row.model_type, [&](std::string_view) { ++words; });
    return words;
  }();
  std::array<typename std::remove_cvref_t<decltype(table)>::value_type, count> rows;
  auto next = rows.begin();
  for (auto row : table) {
    for_each_word(row.model_type, [&](std::string_view word) {
      row.model_type = word;
      *next++ = row;
    });
  }
  return rows;
}();

}  // namespace rotary
