// SPDX-License-Identifier: Apache-2.0
#include "cli/json_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "cli/utf8.hpp"

namespace rotary::cli {

void JsonWriter::key(std::string_view name) {
  separate();
  quoted(name);
  text_ += ':';
}

void JsonWriter::literal(std::string_view word) {
  separate();
  text_ += word;
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  fmt::format_to(std::back_inserter(text_), "{:.{}g}", number, significant_digits_);
}

void JsonWriter::value(std::string_view text) {
  separate();
  quoted(text);
}

void JsonWriter::document(std::string_view json) {
  separate();
  while (!json.empty()) {
    const std::size_t end = std::min(json.find('\n'), json.size());  // no string of JSON has one
    std::string_view line = json.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    text_ += line;
    json.remove_prefix(std::min(end + 1, json.size()));
  }
}

void JsonWriter::value(std::span<const double> numbers) {
  begin_array();
  for (const double number : numbers) value(number);
  end_array();
}

std::string JsonWriter::finish() && {
  text_ += '\n';
  return std::move(text_);
}

void JsonWriter::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

void JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
}

void JsonWriter::close(char bracket) { text_ += bracket; }

void JsonWriter::integer(std::int64_t number) {
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", number);
}

void JsonWriter::quoted(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const char first = text.front();
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";
    } else if (first == '"' || first == '\\') {
      text_ += '\\';
      text_ += first;
    } else if (length == 1 && (static_cast<unsigned char>(first) < 0x20 || first == 0x7F)) {
      fmt::format_to(std::back_inserter(text_), "\\u{:04x}", static_cast<unsigned char>(first));
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

}  // namespace rotary::cli
