// SPDX-License-Identifier: Apache-2.0
#include "model/json/object_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/message.hpp"
#include "model/json/spelling.hpp"

namespace rotary {

double ObjectReader::required_number(std::string_view key) {
  const auto value = number(key);
  if (!value) fail(malformed_input(from_.path, key, " must be given, got none"));
  return value.value_or(0);
}

std::int64_t ObjectReader::required_integer(std::string_view key) {
  const auto value = integer(key);
  if (!value) fail(malformed_input(from_.path, key, " must be given, got none"));
  return value.value_or(0);
}

std::optional<ObjectReader> ObjectReader::object(std::string_view key) {
  known_.push_back(key);
  const Json* const value = find(from_, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) {
    fail(malformed_input(from_.path, key, " must be an object, got ", describe(*value)));
    return std::nullopt;
  }
  return ObjectReader({.object = value, .path = message(from_.path, key, ".")});
}

void ObjectReader::refuse_other_keys() {
  for (const auto& [key, value] : from_.object->object()) {
    if (value.is_null() || std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    fail(unsupported(from_.path, shorten(key), " is not one of ", join(known_),
                     did_you_mean(key, known_)));
    return;
  }
}

}  // namespace rotary
