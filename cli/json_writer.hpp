// SPDX-License-Identifier: Apache-2.0
// Writes one JSON document (RFC 8259) on one line. Doubles have 17 significant digits, so reading
// them back gives the same double, unless fewer are asked for; a number that is not finite becomes
// null, because JSON has none. Characters that a terminal or a page would obey are escaped
// (printable.hpp says which). Text that is not UTF-8 (a file name may be) has its bad bytes
// replaced by U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rotary::cli {

class JsonWriter {
 public:
  explicit JsonWriter(int significant_digits = 17) : significant_digits_(significant_digits) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  // Inside an object, before each value.
  void key(std::string_view name);

  void null() { literal("null"); }
  void value(std::same_as<bool> auto truth) { literal(truth ? "true" : "false"); }
  void value(double number);
  void value(std::string_view text);
  void value(std::span<const double> numbers);
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) void value(Integer number) {
    integer(static_cast<std::int64_t>(number));
  }
  template <class T>
  void value(const std::optional<T>& maybe) {
    if (maybe) {
      value(*maybe);
    } else {
      null();
    }
  }

  // A whole JSON document, of valid UTF-8, as a value. Only the white space around its lines is
  // left out, so that this document stays on one, and characters are escaped as in other text.
  void document(std::string_view json);

  template <class T>
  void member(std::string_view name, const T& member_value) {
    key(name);
    value(member_value);
  }

  template <class Range>
  void array(std::string_view name, const Range& values) {
    key(name);
    begin_array();
    for (const auto& element : values) value(element);
    end_array();
  }

  // The document and a line end.
  [[nodiscard]] std::string finish() &&;

 private:
  void separate();
  void open(char bracket);
  void close(char bracket);
  void integer(std::int64_t number);
  void quoted(std::string_view text);
  void append(std::string_view sequence);
  void append_line(std::string_view line);
  void literal(std::string_view word);

  std::string text_;
  int significant_digits_;
};

}  // namespace rotary::cli
