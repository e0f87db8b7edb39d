// SPDX-License-Identifier: Apache-2.0
// Texts for messages: the existing name behind a mistyped one, lists of names, escaped bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary {

// Number of edits between two texts (optimal string alignment), ignoring case. An edit changes,
// removes or inserts a letter, or swaps two neighbours.
[[nodiscard]] inline std::size_t edits_between(std::string_view from, std::string_view to) {
  const auto same = [](char one, char other) {
    const auto lower = [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(one) == lower(other);
  };
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(to.size() + 1);
  auto& [before_last, last, row] = rows;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t changed = last[j - 1] + (same(from[i - 1], to[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      const bool swapped =
          i > 1 && j > 1 && same(from[i - 1], to[j - 2]) && same(from[i - 2], to[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[to.size()];
}

// "; did you mean factor?" for the nearest name, if it is at most two edits away and has more
// letters than edits; otherwise "". Does not suggest the text itself.
[[nodiscard]] inline std::string did_you_mean(std::string_view text,
                                              std::span<const std::string_view> names) {
  constexpr std::size_t most_edits = 2;
  std::string_view nearest;
  std::size_t fewest = most_edits + 1;
  for (const std::string_view name : names) {
    // Skips names whose length differs too much, which saves time for long texts.
    const auto [shorter, longer] = std::minmax({name.size(), text.size()});
    if (name == text || longer - shorter > most_edits) continue;
    const std::size_t edits = edits_between(text, name);
    if (edits >= fewest || edits >= name.size()) continue;
    fewest = edits;
    nearest = name;
  }
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

// "a, b, c".
[[nodiscard]] inline std::string join(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) joined.append(joined.empty() ? "" : ", ").append(name);
  return joined;
}

// The first 60 bytes of a text from outside. Bytes that are not printable ASCII become \xNN.
[[nodiscard]] inline std::string printable(std::string_view bytes) {
  constexpr std::size_t longest = 60;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte >= 0x20 && byte < 0x7F) {
      text += each;
      continue;
    }
    text += "\\x";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  if (bytes.size() > longest) text += "...";
  return text;
}

}  // namespace rotary
