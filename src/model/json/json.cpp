// SPDX-License-Identifier: Apache-2.0
#include "model/json/json.hpp"

#include <nlohmann/json.hpp>

namespace rotary {
namespace {

// nlohmann's destructor allocates only for arrays and objects, which T is not.
template <class T>
std::string leaf_text(const T& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_text(const Json& value, std::string& text) {
  if (value.is_object()) {
    char before = '{';
    for (const auto& [key, member] : value.object()) {
      text += std::exchange(before, ',');
      text += leaf_text(key) += ':';
      append_text(member, text);
    }
    text += before == '{' ? "{}" : "}";
  } else if (value.is_array()) {
    char before = '[';
    for (const Json& element : value.array()) {
      text += std::exchange(before, ',');
      append_text(element, text);
    }
    text += before == '[' ? "[]" : "]";
  } else if (value.is_null()) {
    text += "null";
  } else if (value.is_boolean()) {
    text += value.boolean() ? "true" : "false";
  } else if (value.is_string()) {
    text += leaf_text(value.string());
  } else if (value.is_unsigned()) {
    text += leaf_text(static_cast<std::uint64_t>(value.integer()));
  } else if (value.is_integer()) {
    text += leaf_text(value.integer());
  } else if (value.is_number()) {
    text += leaf_text(value.number());
  } else {
    text += std::isnan(value.number()) ? "NaN" : value.number() < 0 ? "-Infinity" : "Infinity";
  }
}

}  // namespace

std::int64_t Json::integer() const {
  if (const auto* const whole = std::get_if<std::uint64_t>(&value_)) {
    return static_cast<std::int64_t>(*whole);
  }
  return std::get<std::int64_t>(value_);
}

double Json::number() const {
  if (const auto* const whole = std::get_if<std::uint64_t>(&value_)) {
    return static_cast<double>(*whole);
  }
  if (const auto* const whole = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*whole);
  }
  return std::get<double>(value_);
}

std::size_t Json::size() const {
  if (const auto* const members = std::get_if<Object>(&value_)) return members->size();
  if (const auto* const elements = std::get_if<Array>(&value_)) return elements->size();
  return 0;
}

const Json* Json::find(std::string_view key) const {
  const auto* const members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = members->find(key);
  return found == members->end() ? nullptr : &found->second;
}

std::string Json::text() const {
  std::string text;
  append_text(*this, text);
  return text;
}

bool operator==(const Json& one, const Json& other) noexcept {
  if (one.value_.index() == other.value_.index()) return one.value_ == other.value_;
  if (!one.is_number() || !other.is_number()) return false;
  if (one.is_integer() && other.is_integer()) return one.integer() == other.integer();
  return one.number() == other.number();
}

}  // namespace rotary
