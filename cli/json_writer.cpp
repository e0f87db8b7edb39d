// SPDX-License-Identifier: Apache-2.0
#include "cli/json_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "cli/printable.hpp"
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
    append_line(line);
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
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";
    } else if (sequence == "\"" || sequence == "\\") {
      text_ += '\\';
      text_ += sequence;
    } else {
      append(sequence);
    }
    text.remove_prefix(sequence.size());
  }
  text_ += '"';
}

void JsonWriter::append_line(std::string_view line) {
  while (!line.empty()) {
    const std::size_t plain = plain_ascii_length(line);
    text_ += line.substr(0, plain);
    line.remove_prefix(plain);
    if (line.empty()) return;
    const std::string_view sequence = line.substr(0, utf8_sequence_length(line));
    append(sequence);
    line.remove_prefix(sequence.size());
  }
}

// A character of a string; beyond 16 bits its escape is a pair of surrogates.
void JsonWriter::append(std::string_view sequence) {
  const char32_t code_point = code_point_of(sequence);
  if (!is_obeyed(code_point)) {
    text_ += sequence;
    return;
  }
  auto out = std::back_inserter(text_);
  const auto number = static_cast<std::uint32_t>(code_point);
  if (number <= 0xFFFF) {
    fmt::format_to(out, "\\u{:04x}", number);
    return;
  }
  const std::uint32_t beyond = number - 0x10000;
  fmt::format_to(out, "\\u{:04x}\\u{:04x}", 0xD800 + (beyond >> 10), 0xDC00 + (beyond & 0x3FF));
}

}  // namespace rotary::cli
