// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/json_object.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "apps/failure.hpp"

namespace rotary::lab {

using cli::ExitCode;
using cli::Failure;
using nlohmann::json;

JsonObject::JsonObject(const json& object, std::string name)
    : object_(object), name_(std::move(name)) {
  if (object_.is_object()) return;
  throw Failure(ExitCode::malformed_input,
                fmt::format("{} must be an object, got {}", name_, object_.type_name()));
}

void JsonObject::fail(std::string_view key, std::string_view requirement) const {
  const auto found = object_.find(std::string(key));
  const std::string got = found == object_.end() ? "nothing" : found->dump();
  throw Failure(ExitCode::malformed_input,
                fmt::format("{}: {} must be {}, got {}", name_, key, requirement, got));
}

bool JsonObject::has(std::string_view key) const { return object_.contains(std::string(key)); }

const json& JsonObject::at(std::string_view key) {
  asked_.emplace(key);
  const auto found = object_.find(std::string(key));
  if (found == object_.end()) fail(key, "given");
  return *found;
}

JsonObject JsonObject::object(std::string_view key) {
  return {at(key), fmt::format("{}: {}", name_, key)};
}

std::string JsonObject::text(std::string_view key) {
  const json& value = at(key);
  if (!value.is_string()) fail(key, "text");
  return value.get<std::string>();
}

double JsonObject::number(std::string_view key) {
  const json& value = at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) fail(key, "a finite number");
  return value.get<double>();
}

std::int64_t JsonObject::integer(std::string_view key, std::int64_t least) {
  const json& value = at(key);
  const std::string requirement = fmt::format("a whole number from {} to 2^53", least);
  if (!value.is_number_integer()) fail(key, requirement);
  const auto number = value.get<std::int64_t>();
  if (number < least || number > (std::int64_t{1} << 53)) fail(key, requirement);
  return number;
}

double JsonObject::number(std::string_view key, double otherwise) {
  asked_.emplace(key);
  return has(key) ? number(key) : otherwise;
}

std::int64_t JsonObject::integer(std::string_view key, std::int64_t least, std::int64_t otherwise) {
  asked_.emplace(key);
  return has(key) ? integer(key, least) : otherwise;
}

void JsonObject::finish() const {
  for (const auto& [key, value] : object_.items()) {
    if (asked_.contains(key)) continue;
    throw Failure(ExitCode::malformed_input,
                  fmt::format("{}: the key '{}' has no meaning here", name_, key));
  }
}

json parse_json(std::string_view text, std::string_view source) {
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    throw Failure(ExitCode::malformed_input,
                  fmt::format("{} must be JSON: {}", source, error.what()));
  }
}

}  // namespace rotary::lab
