// SPDX-License-Identifier: Apache-2.0
#include "model/json/reader.hpp"

#include <algorithm>
#include <cmath>

#include "base/spelling.hpp"
#include "model/json/config_json.hpp"

namespace rotary {

std::optional<double> Reader::number(std::string_view key) {
  const Json* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->number();
  mistyped(key, *value, "a number");
  return std::nullopt;
}

std::optional<std::int64_t> Reader::integer(std::string_view key) {
  const Json* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  constexpr std::uint64_t largest = std::uint64_t{1} << 53;
  if (value->is_unsigned() && static_cast<std::uint64_t>(value->integer()) > largest) {
    mistyped(key, *value, "an integer below 2^53");
    return std::nullopt;
  }
  if (value->is_integer()) return value->integer();
  const double number = value->is_number() ? value->number() : std::nan("");
  if (number == std::floor(number) && std::abs(number) <= 0x1p53) {
    return static_cast<std::int64_t>(number);
  }
  mistyped(key, *value, "an integer");
  return std::nullopt;
}

std::optional<bool> Reader::boolean(std::string_view key) {
  const Json* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->boolean();
  mistyped(key, *value, "true or false");
  return std::nullopt;
}

std::optional<std::string> Reader::text(std::string_view key) {
  const Json* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->string();
  mistyped(key, *value, "a string");
  return std::nullopt;
}

std::optional<std::vector<double>> Reader::numbers(std::string_view key) {
  const Json* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  const bool is_list =
      value->is_array() && std::all_of(value->array().begin(), value->array().end(),
                                       [](const Json& each) { return each.is_number(); });
  if (!is_list) {
    mistyped(key, *value, "an array of numbers");
    return std::nullopt;
  }
  std::vector<double> numbers;
  numbers.reserve(value->size());
  for (const Json& each : value->array()) numbers.push_back(each.number());
  return numbers;
}

std::optional<Reader> Reader::object(std::string_view key) {
  const Json* const value = ask(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return Reader(*value, message(path_, key, "."), *findings_);
  mistyped(key, *value, "an object");
  return std::nullopt;
}

const Json* Reader::find(std::string_view key) const {
  if (key.empty()) return nullptr;
  const Json* const found = look_for(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

void Reader::accept(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.push_back(key);
    if (findings_->asked != nullptr) findings_->asked->insert(message(path_, key));
  }
}

std::optional<Error> Reader::error_about_others(ErrorCode code, std::string_view is_not) const {
  for (const auto& [key, value] : members()) {
    if (value.is_null() || std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    const auto explained =
        std::find_if(explanations_.begin(), explanations_.end(),
                     [&key = key](const auto& each) { return each.first == key; });
    const std::string hint = explained == explanations_.end() ? did_you_mean(key, asked_)
                                                              : message("; ", explained->second);
    return Error{code, message(path_, shorten(key), is_not, join(asked_), hint)};
  }
  return std::nullopt;
}

const Json* Reader::ask(std::string_view key) {
  accept({&key, 1});
  return find(key);
}

void Reader::mistyped(std::string_view key, const Json& value, std::string_view wanted) {
  malformed(key, " must be ", wanted, ", got ", describe(value));
}

}  // namespace rotary
