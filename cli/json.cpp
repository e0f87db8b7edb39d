// SPDX-License-Identifier: Apache-2.0
#include "cli/json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <iterator>

#include "cli/printable.hpp"
#include "cli/utf8.hpp"

namespace rotary::cli {
namespace {

// Beyond 16 bits an escape is a pair of surrogates.
void append_json_escape(std::string& text, char32_t code_point) {
  const auto number = static_cast<std::uint32_t>(code_point);
  auto out = std::back_inserter(text);
  if (number <= 0xFFFF) {
    fmt::format_to(out, "\\u{:04x}", number);
    return;
  }
  const std::uint32_t beyond = number - 0x10000;
  fmt::format_to(out, "\\u{:04x}\\u{:04x}", 0xD800 + (beyond >> 10), 0xDC00 + (beyond & 0x3FF));
}

std::string with_finite_numbers(std::string_view text) {
  std::string plain;
  bool is_within = false;  // a string
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (is_within && rest.front() == '\\') {
      plain += rest.substr(0, 2);
      ++at;
      continue;
    }
    if (rest.front() == '"') is_within = !is_within;
    plain += rest.front();
    for (const std::string_view name : {"NaN", "Infinity", "-Infinity"}) {
      if (is_within || !rest.starts_with(name)) continue;
      plain.replace(plain.size() - 1, 1, fmt::format("\"{}\"", name));
      at += name.size() - 1;
    }
  }
  return plain;
}

}  // namespace

SortedJson parsed_config(std::string_view text) {
  return SortedJson::parse(with_finite_numbers(text), nullptr, /*allow_exceptions=*/false);
}

Json ordered_config(std::string_view text) {
  return Json::parse(with_finite_numbers(text), nullptr, /*allow_exceptions=*/false);
}

double rounded_to_digits(double number, int significant_digits) {
  const std::string text = fmt::format("{:.{}g}", number, significant_digits);
  double rounded = number;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::string printed(const Json& document) {
  const std::string dumped = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text;
  text.reserve(dumped.size() + 1);
  for (std::string_view rest = dumped; !rest.empty();) {
    const std::size_t plain = plain_ascii_length(rest);
    text += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    // Only strings have other characters, and there an escape means the same.
    const std::string_view sequence = rest.substr(0, utf8_sequence_length(rest));
    if (is_obeyed(code_point_of(sequence)))
      append_json_escape(text, code_point_of(sequence));
    else
      text += sequence;
    rest.remove_prefix(sequence.size());
  }
  return text + '\n';
}

}  // namespace rotary::cli
