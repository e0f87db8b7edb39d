// SPDX-License-Identifier: Apache-2.0
#include "model/json/spelling.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/message.hpp"

namespace rotary {
namespace {

constexpr std::size_t most_mistakes = 2;

// Edits between two texts (optimal string alignment); keeps the last three rows of the usual table.
std::size_t mistakes(std::string_view a, std::string_view b) {
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  auto& [before_last, last, row] = rows;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string join(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) joined.append(joined.empty() ? "" : ", ").append(name);
  return joined;
}

std::string did_you_mean(std::string_view key, std::span<const std::string_view> accepted) {
  std::string_view nearest;
  std::size_t fewest = most_mistakes + 1;
  for (const std::string_view name : accepted) {
    if (name == key) continue;  // it is not accepted here
    // The difference in length is a lower bound; checking it keeps long keys cheap.
    const std::size_t longer = std::max(name.size(), key.size());
    if (longer - std::min(name.size(), key.size()) > most_mistakes) continue;
    const std::size_t count = mistakes(key, name);
    if (count >= fewest || count >= name.size()) continue;
    fewest = count;
    nearest = name;
  }
  return nearest.empty() ? std::string() : message("; did you mean ", nearest, "?");
}

}  // namespace rotary
