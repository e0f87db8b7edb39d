// SPDX-License-Identifier: Apache-2.0
// JSON. When written, members keep their order, doubles round-trip, NaN and infinity become null.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

// Writes null for an empty std::optional, a type that nlohmann 3.11 does not know.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  template <class Json>
  static void to_json(Json& json, const std::optional<T>& maybe) {
    if (maybe)
      json = *maybe;
    else
      json = nullptr;
  }
};

namespace rotary::cli {

// For writing: members in the order of insertion, found by linear search.
using Json = nlohmann::ordered_json;
// For reading any number of members: sorted by name.
using SortedJson = nlohmann::json;

// The form of a command's answer on standard output: json with --json, else text.
enum class OutputForm { text, json };

template <class Range, class Make>
[[nodiscard]] Json json_array(const Range& elements, Make make) {
  Json array = Json::array();
  for (const auto& element : elements) array.push_back(make(element));
  return array;
}

[[nodiscard]] inline Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

// Compiled only in json.cpp, because nlohmann's parser compiles slowly. If the text is not JSON,
// the first two return a discarded value, and parse_events() returns false.
[[nodiscard]] SortedJson parse_json(std::string_view text);
[[nodiscard]] Json parse_json_in_order(std::string_view text);
[[nodiscard]] bool parse_events(std::string_view text, nlohmann::json_sax<SortedJson>& events);

// Parses a config. NaN and Infinity, which Python writes, become strings.
[[nodiscard]] SortedJson parsed_config(std::string_view text);
// Like parsed_config(), with members in the text's order. For short texts, because finding a member
// is linear.
[[nodiscard]] Json ordered_config(std::string_view text);

// The document on one line, not escaped.
[[nodiscard]] std::string dumped(const Json& document);

// The pointer for a dotted path such as "thinker_config.text_config"; "" is the document itself.
[[nodiscard]] nlohmann::json_pointer<std::string> pointer_to(std::string_view path);

// Rounds to the nearest double with this many significant digits.
[[nodiscard]] double rounded_to_digits(double number, int significant_digits);

// The document on one line with a line end. Escapes like printable.hpp; bytes that are not UTF-8
// become U+FFFD.
[[nodiscard]] std::string printed(const Json& document);

}  // namespace rotary::cli
