// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "cli/utf8.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t longest_name = 100;  // longer than any name; the distance is quadratic

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), ascii_lower);
  return lower;
}

}  // namespace

// A row at a time.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> names) {
  if (text.size() > longest_name) return "";
  const std::string wanted = in_lower_case(text);
  std::string_view nearest;
  std::size_t least = longest_name;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(wanted, in_lower_case(name));
    if (distance >= least || distance > (name.size() + 2) / 3) continue;
    nearest = name;
    least = distance;
  }
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

}  // namespace rotary::cli
