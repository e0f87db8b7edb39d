// SPDX-License-Identifier: Apache-2.0
// A JSON value that allocates nothing in a destructor, a move or a comparison. nlohmann/json reads
// and writes the text; its tree allocates in its destructor, which ends the process if memory has
// run out.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rotary {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;  // sorted by key

  Json() = default;  // null
  explicit Json(bool value) : value_(value) {}
  explicit Json(std::int64_t value) : value_(value) {}
  explicit Json(std::uint64_t value) : value_(value) {}
  explicit Json(double value) : value_(value) {}  // is_number() is false if not finite
  explicit Json(std::string value) : value_(std::move(value)) {}
  explicit Json(const char* value) : value_(std::string(value)) {}
  explicit Json(Array value) : value_(std::move(value)) {}
  explicit Json(Object value) : value_(std::move(value)) {}

  [[nodiscard]] bool is_null() const { return holds<std::monostate>(); }
  [[nodiscard]] bool is_boolean() const { return holds<bool>(); }
  [[nodiscard]] bool is_integer() const { return holds<std::int64_t>() || is_unsigned(); }
  [[nodiscard]] bool is_unsigned() const { return holds<std::uint64_t>(); }
  [[nodiscard]] bool is_number() const { return is_finite() || is_integer(); }
  [[nodiscard]] bool is_string() const { return holds<std::string>(); }
  [[nodiscard]] bool is_array() const { return holds<Array>(); }
  [[nodiscard]] bool is_object() const { return holds<Object>(); }

  // Each requires a value of the type in its name. Numbers are converted.
  [[nodiscard]] bool boolean() const { return std::get<bool>(value_); }
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& string() const { return std::get<std::string>(value_); }
  [[nodiscard]] const Array& array() const { return std::get<Array>(value_); }
  [[nodiscard]] Array& array() { return std::get<Array>(value_); }
  [[nodiscard]] const Object& object() const { return std::get<Object>(value_); }
  [[nodiscard]] Object& object() { return std::get<Object>(value_); }

  // Number of members of an object or elements of an array; 0 for any other value.
  [[nodiscard]] std::size_t size() const;

  [[nodiscard]] const Json* find(std::string_view key) const;

  // JSON text; bytes that are not UTF-8 become U+FFFD.
  [[nodiscard]] std::string text() const;

  // Compares numbers by value: 1 == 1.0.
  friend bool operator==(const Json& one, const Json& other) noexcept;
  friend bool operator==(const Json& one, std::string_view text) noexcept {
    const auto* const own = std::get_if<std::string>(&one.value_);
    return own != nullptr && *own == text;
  }

 private:
  template <class T>
  [[nodiscard]] bool holds() const {
    return std::holds_alternative<T>(value_);
  }

  [[nodiscard]] bool is_finite() const {
    const auto* const number = std::get_if<double>(&value_);
    return number != nullptr && std::isfinite(*number);
  }

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

static_assert(std::is_nothrow_move_constructible_v<Json> &&
              std::is_nothrow_move_assignable_v<Json>);

}  // namespace rotary
