// SPDX-License-Identifier: Apache-2.0
#include "apps/colour.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

namespace rotary::cli {
namespace {

std::atomic<ColourChoice> colour_choice{ColourChoice::automatic};

constexpr std::string_view bold = "1";
constexpr std::string_view faint = "2";
constexpr std::string_view red = "31";
constexpr std::string_view yellow = "33";

struct Painted {
  std::string_view text;
  std::string_view colour;
};

constexpr std::array<Painted, 6> painted_words = {{
    {" warning: ", yellow},
    {"MISSED", red},
    {"[class default]", faint},
    {"[family]", faint},
    {"[rule]", faint},
    {"[asked]", faint},
}};

std::string painted(std::string_view text, std::string_view colour) {
  return fmt::format("\x1B[{}m{}\x1B[0m", colour, text);
}

std::string coloured_line(std::string_view line) {
  if (line.empty()) return "";
  const bool is_heading = line.ends_with(':') && line.front() != ' ' && line.front() != '{';
  if (is_heading) return painted(line, bold);
  std::string result(line);
  for (const Painted& word : painted_words) {
    const auto place = result.find(word.text);
    if (place == std::string::npos) continue;
    result.replace(place, word.text.size(), painted(word.text, word.colour));
  }
  const auto colon = result.find(": ");
  if (result.starts_with("rotary") && colon != std::string::npos) {
    result = painted(result.substr(0, colon + 1), bold) + result.substr(colon + 1);
  }
  return result;
}

}  // namespace

void choose_colour(ColourChoice choice) noexcept { colour_choice = choice; }

bool has_colour(int descriptor) noexcept {
  if (colour_choice != ColourChoice::automatic) return colour_choice == ColourChoice::always;
  const char* const terminal = std::getenv("TERM");
  const char* const no_color = std::getenv("NO_COLOR");
  return ::isatty(descriptor) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::string coloured(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += coloured_line(text.substr(0, end));
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace rotary::cli
