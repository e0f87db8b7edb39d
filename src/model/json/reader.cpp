// SPDX-License-Identifier: Apache-2.0
#include "model/json/reader.hpp"

#include <algorithm>
#include <cmath>

#include "base/spelling.hpp"
#include "model/json/config_json.hpp"

namespace rotary {

namespace {

// The value as a whole number, which may have a zero fraction.
std::optional<std::int64_t> whole(const Json& value) {
  if (value.is_integer()) return value.integer();
  const double number = value.is_number() ? value.number() : std::nan("");
  const bool is_whole = number == std::floor(number) && std::abs(number) <= 0x1p53;
  return is_whole ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

std::optional<std::vector<double>> all_numbers(const Json& value) {
  if (!value.is_array() || !std::ranges::all_of(value.array(), &Json::is_number)) return {};
  std::vector<double> numbers;
  numbers.reserve(value.size());
  for (const Json& each : value.array()) numbers.push_back(each.number());
  return numbers;
}

}  // namespace

template <class Convert>
auto Reader::read(std::string_view key, std::string_view wanted, Convert convert)
    -> decltype(convert(std::declval<const Json&>())) {
  accept({&key, 1});
  const Json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  auto read = convert(*value);
  if (!read) malformed(key, " must be ", wanted, ", got ", describe(*value));
  return read;
}

std::optional<double> Reader::number(std::string_view key) {
  return read(key, "a number", [](const Json& value) {
    return value.is_number() ? std::optional(value.number()) : std::nullopt;
  });
}

std::optional<std::int64_t> Reader::integer(std::string_view key) {
  const Json* const value = find(key);
  constexpr std::uint64_t largest = std::uint64_t{1} << 53;
  const bool is_too_large = value != nullptr && value->is_unsigned() &&
                            static_cast<std::uint64_t>(value->integer()) > largest;
  return read(key, is_too_large ? "an integer below 2^53" : "an integer",
              [&](const Json& given) { return is_too_large ? std::nullopt : whole(given); });
}

std::optional<bool> Reader::boolean(std::string_view key) {
  return read(key, "true or false", [](const Json& value) {
    return value.is_boolean() ? std::optional(value.boolean()) : std::nullopt;
  });
}

std::optional<std::string> Reader::text(std::string_view key) {
  return read(key, "a string", [](const Json& value) {
    return value.is_string() ? std::optional(value.string()) : std::nullopt;
  });
}

std::optional<std::vector<double>> Reader::numbers(std::string_view key) {
  return read(key, "an array of numbers", all_numbers);
}

std::optional<Reader> Reader::object(std::string_view key) {
  return read(key, "an object", [&](const Json& value) {
    return value.is_object() ? std::optional(Reader(value, message(path_, key, "."), *findings_))
                             : std::nullopt;
  });
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

}  // namespace rotary
