// SPDX-License-Identifier: Apache-2.0
#include "lab/data/manual_page.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::lab {
namespace {

using NamedText = std::pair<std::string_view, std::string_view>;

// The characters of groff_char(7) and strings of man(7) that pages use; others vanish.
constexpr std::array special_characters = std::to_array<NamedText>({
    {"aq", "'"},  {"cq", "'"},  {"oq", "'"},   {"dq", "\""}, {"lq", "\""}, {"rq", "\""},
    {"em", "-"},  {"en", "-"},  {"mi", "-"},   {"hy", "-"},  {"bu", "*"},  {"rs", "\\"},
    {"ti", "~"},  {"ha", "^"},  {"ga", "`"},   {"at", "@"},  {"sh", "#"},  {"Do", "$"},
    {"lB", "["},  {"rB", "]"},  {"co", "(c)"}, {"mu", "x"},  {"<=", "<="}, {">=", ">="},
    {"->", "->"}, {"<-", "<-"}, {"|=", "~="},  {"+-", "+-"}, {"pl", "+"},  {"Pi", "Pi"},
});

std::string_view text_of_special(std::string_view name) {
  const auto* found = std::ranges::find(special_characters, name, &NamedText::first);
  return found == special_characters.end() ? std::string_view() : found->second;
}

// Takes count characters off the front.
std::string_view take(std::string_view& rest, std::size_t count) {
  const std::string_view taken = rest.substr(0, count);
  rest.remove_prefix(taken.size());
  return taken;
}

// A name as roff has it: one character, (xx, or [anything].
std::string_view take_name(std::string_view& rest) {
  if (rest.starts_with('(')) return take(rest, 3).substr(1);
  if (!rest.starts_with('[')) return take(rest, 1);
  const std::size_t end = std::min(rest.find(']'), rest.size());
  const std::string_view name = rest.substr(1, end - 1);
  take(rest, end + 1);
  return name;
}

// After \s: a size, with a sign or without.
void skip_size(std::string_view& rest) {
  if (rest.starts_with('-') || rest.starts_with('+')) take(rest, 1);
  if (rest.starts_with('(') || rest.starts_with('[')) {
    take_name(rest);
    return;
  }
  while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') take(rest, 1);
}

// rest begins after a backslash; returns what to print for the escape that it begins with.
std::string_view take_escape(std::string_view& rest) {
  const std::string_view letter = rest.substr(0, 1);
  if (letter == "(" || letter == "[") return text_of_special(take_name(rest));
  take(rest, 1);
  if (letter == "*") return text_of_special(take_name(rest));
  if (letter == "\"" || letter == "#") {
    rest = {};
    return {};
  }
  if (letter == "f" || letter == "F" || letter == "m" || letter == "M" || letter == "n") {
    take_name(rest);
    return {};
  }
  if (letter == "s") {
    skip_size(rest);
    return {};
  }
  if (letter == "h" || letter == "v" || letter == "w" || letter == "o" || letter == "D") {
    const std::size_t end = rest.find(rest.substr(0, 1), 1);
    take(rest, end == std::string_view::npos ? rest.size() : end + 1);
    return {};
  }
  if (letter == "e" || letter == "\\") return "\\";
  if (letter == " " || letter == "~" || letter == "0") return " ";
  constexpr std::string_view as_they_are = "-'`.";
  return as_they_are.find(letter) == std::string_view::npos ? std::string_view() : letter;
}

std::string without_escapes(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const std::string_view character = take(line, 1);
    text += character == "\\" ? take_escape(line) : character;
  }
  return text;
}

// The arguments of a request: separated by spaces, "quoted" where they hold some.
std::vector<std::string> arguments_of(std::string_view line) {
  std::vector<std::string> arguments;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty() || line.starts_with("\\\"")) return arguments;
    std::string argument;
    const bool quoted = line.front() == '"';
    if (quoted) line.remove_prefix(1);
    while (!line.empty()) {
      const std::string_view character = take(line, 1);
      if (character == "\"" && quoted) {
        if (!line.starts_with('"')) break;  // "" within quotes is a quote
        take(line, 1);
      } else if (character == "\\") {
        argument += '\\';
        argument += take(line, 1);
        continue;
      } else if (!quoted && (character == " " || character == "\t")) {
        break;
      }
      argument += character;
    }
    arguments.push_back(without_escapes(argument));
  }
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

class Page {
 public:
  void read(std::string_view line) {
    if (line.starts_with('.') || line.starts_with('\'')) {
      line.remove_prefix(1);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
      request(line.substr(0, end), line.substr(end));
    } else {
      print(without_escapes(line));
    }
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  void print(const std::string& line) {
    if (headings_ < 2 || in_format_ || line.empty()) {
      // The lines that say how a table is set out end with a full stop.
      if (line.ends_with('.')) in_format_ = false;
      return;
    }
    text_ += line;
    text_ += '\n';
  }

  void request(std::string_view name, std::string_view rest) {
    constexpr std::array fonts_in_turns =
        std::to_array<std::string_view>({"BR", "RB", "BI", "IB", "RI", "IR", "SB"});
    constexpr std::array words_follow = std::to_array<std::string_view>({"B", "I", "SM", "IP"});
    const auto has = [&](const auto& names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (name == "SH" || name == "Sh") ++headings_;
    if (name == "TS") in_format_ = true;
    if (has(fonts_in_turns)) {
      print(joined(arguments_of(rest), ""));
    } else if (name == "SH" || name == "Sh" || name == "SS" || name == "Ss" || has(words_follow) ||
               is_mdoc(name)) {
      print(joined(arguments_of(rest), " "));
    }
  }

  // Its requests are words, and their arguments text: .Fn, .Xr; but for the first three lines.
  static bool is_mdoc(std::string_view name) {
    const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    return name.size() == 2 && name[0] >= 'A' && name[0] <= 'Z' && is_lower(name[1]) &&
           name != "Dd" && name != "Dt" && name != "Os";
  }

  std::string text_;
  int headings_ = 0;  // of sections so far; the first is NAME
  bool in_format_ = false;
};

}  // namespace

std::string words_of_manual(std::string_view roff) {
  Page page;
  std::string line;
  while (!roff.empty()) {
    const std::size_t end = std::min(roff.find('\n'), roff.size());
    line += roff.substr(0, end);
    roff.remove_prefix(std::min(end + 1, roff.size()));
    // An odd number of backslashes at the end: the next line continues this one.
    const std::size_t last = line.find_last_not_of('\\');
    const std::size_t backslashes = line.size() - (last == std::string::npos ? 0 : last + 1);
    if (backslashes % 2 == 1 && !roff.empty()) {
      line.pop_back();
      continue;
    }
    page.read(line);
    line.clear();
  }
  return std::move(page).text();
}

}  // namespace rotary::lab
