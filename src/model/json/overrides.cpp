// SPDX-License-Identifier: Apache-2.0
#include "model/json/overrides.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/message.hpp"

namespace rotary {
namespace {

// Text that is not JSON becomes a string, so that nobody has to quote twice in a shell.
Json value_of(const std::string& text) {
  auto value = parse_json(text, "value");
  return value ? *std::move(value) : Json(text);
}

// Limits the depth to that of configs, because later code walks them level by level.
Status check_depth(const ConfigOverride& change) {
  const auto levels = 2 + std::count(change.key.begin(), change.key.end(), '.');
  if (levels <= max_config_depth / 2) return {};
  return invalid_argument("a key to set must lead through at most ", max_config_depth / 2 - 2,
                          " objects, got ", levels - 2, ": ", shorten(change.key));
}

Status apply(Json& config, const ConfigOverride& change) {
  if (auto status = check_depth(change); !status) return status;
  Json::Object* object = &config.object();
  std::string_view rest = change.key;
  while (true) {
    const auto dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    if (part.empty()) {
      return invalid_argument("a key to set must be NAME or OBJECT.NAME, got '",
                              shorten(change.key), "'");
    }
    Json& place = (*object)[part];
    if (dot == std::string_view::npos) {
      place = value_of(change.value);
      return {};
    }
    if (place.is_null()) place = Json(Json::Object());
    if (!place.is_object()) {
      return invalid_argument("to set ", shorten(change.key), ", ", shorten(part),
                              " must be an object, got ", describe(place));
    }
    object = &place.object();
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace

Status apply_overrides(Json& config, std::span<const ConfigOverride> overrides) {
  for (const ConfigOverride& each : overrides) {
    if (auto status = apply(config, each); !status) return status;
  }
  return {};
}

}  // namespace rotary
