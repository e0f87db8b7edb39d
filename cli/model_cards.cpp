// SPDX-License-Identifier: Apache-2.0
#include "cli/model_cards.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "apps/failure.hpp"
#include "apps/utf8.hpp"
#include "src/base/spelling.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t most_near_names = 5;
constexpr std::size_t longest_text = 100;    // more than any name has
constexpr std::size_t shortest_overlap = 4;  // letters and digits: "phi3" counts, "t5" is too short

// The letters and digits, in lower case.
std::string bare(std::string_view text) {
  if (text.ends_with(".json")) text.remove_suffix(5);
  std::string kept;
  for (const char each : text.substr(0, longest_text)) {
    const char lower = ascii_lower(each);
    if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9')) kept += lower;
  }
  return kept;
}

bool is_part(std::string_view part, std::string_view whole) {
  return part.size() >= shortest_overlap && whole.find(part) != std::string_view::npos;
}

}  // namespace

const ModelCard* find_model_card(std::string_view name) noexcept {
  for (const ModelCard& card : model_cards())
    if (std::ranges::equal(card.name, name, {}, ascii_lower, ascii_lower)) return &card;
  return nullptr;
}

const ModelCard* find_card_of_id(std::string_view id) {
  const auto slash = id.find('/');
  if (slash == 0 || slash == std::string_view::npos || id.starts_with('.')) return nullptr;
  return find_model_card(id.substr(slash + 1));
}

std::vector<std::string_view> near_card_names(std::string_view text) {
  const std::string wanted = bare(text);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const ModelCard& card : model_cards()) {
    const std::string name = bare(card.name);
    const std::size_t distance = edits_between(wanted, name);
    const std::size_t slips = edits_between(wanted, name.substr(0, wanted.size()));
    if (distance <= name.size() / 3 || is_part(name, wanted) || is_part(wanted, name) ||
        (wanted.size() >= shortest_overlap && slips <= wanted.size() / 4))
      near.emplace_back(distance, card.name);
  }
  std::ranges::sort(near);
  std::vector<std::string_view> names;
  for (const auto& [distance, name] : near)
    if (names.size() < most_near_names) names.push_back(name);
  return names;
}

std::string near_card_names_text(std::string_view text) {
  const std::vector<std::string_view> names = near_card_names(text);
  return names.empty() ? "; `rotary models` lists the names"
                       : fmt::format("; the nearest names: {}", fmt::join(names, ", "));
}

void fail_unknown_card(std::string_view text, std::string_view nor) {
  fail(ExitCode::io, "{}: No such file, and no model card has this name{}{}", text,
       near_card_names_text(text), nor);
}

}  // namespace rotary::cli
