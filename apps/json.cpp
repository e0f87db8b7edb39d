// SPDX-License-Identifier: Apache-2.0
#include "apps/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "apps/printable.hpp"
namespace rotary::cli {
namespace {

// Code points above 16 bits become a pair of surrogates.
std::string json_escape(char32_t code_point) {
  const auto number = static_cast<std::uint32_t>(code_point);
  if (number <= 0xFFFF) return fmt::format("\\u{:04x}", number);
  const std::uint32_t beyond = number - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (beyond >> 10), 0xDC00 + (beyond & 0x3FF));
}

std::string with_finite_numbers(std::string_view text) {
  std::string plain;
  bool is_within = false;  // in a string
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

SortedJson parse_json(std::string_view text) {
  return SortedJson::parse(text, nullptr, /*allow_exceptions=*/false);
}

Json parse_json_in_order(std::string_view text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

bool parse_events(std::string_view text, nlohmann::json_sax<SortedJson>& events) {
  return SortedJson::sax_parse(text, &events);
}

SortedJson parsed_config(std::string_view text) { return parse_json(with_finite_numbers(text)); }

Json ordered_config(std::string_view text) {
  return parse_json_in_order(with_finite_numbers(text));
}

nlohmann::json_pointer<std::string> pointer_to(std::string_view path) {
  nlohmann::json_pointer<std::string> pointer;
  while (!path.empty()) {
    pointer /= std::string(path.substr(0, path.find('.')));
    path.remove_prefix(std::min(path.find('.'), path.size() - 1) + 1);
  }
  return pointer;
}

std::string dumped(const Json& document) { return document.dump(); }

double rounded_to_digits(double number, int significant_digits) {
  const std::string text = fmt::format("{:.{}g}", number, significant_digits);
  double rounded = number;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::string printed(const Json& document) {
  // Characters to escape occur only in strings, where JSON allows escapes.
  return escaped(document.dump(-1, ' ', false, Json::error_handler_t::replace), {}, json_escape) +
         '\n';
}

}  // namespace rotary::cli
