// SPDX-License-Identifier: Apache-2.0
#include "model/json/overrides.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "base/spelling.hpp"

namespace rotary {
namespace {

// Limits the levels of a key to half of max_config_depth.
Status check_depth(const ConfigOverride& change) {
  const auto levels = 2 + std::count(change.key.begin(), change.key.end(), '.');
  if (levels <= max_config_depth / 2) return {};
  return invalid_argument("a key to set must lead through at most ", max_config_depth / 2 - 2,
                          " objects, got ", levels - 2, ": ", shorten(change.key));
}

// The object that holds the key; creates missing objects on the way.
Result<Json::Object*> object_around(Json& config, std::string_view key) {
  Json::Object* object = &config.object();
  std::string_view rest = key;
  while (true) {
    const auto dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    if (part.empty()) {
      return invalid_argument("a key to set must be NAME or OBJECT.NAME, got '", shorten(key), "'");
    }
    if (dot == std::string_view::npos) return object;
    Json& place = (*object)[part];
    if (place.is_null()) place = Json(Json::Object());
    if (!place.is_object()) {
      return invalid_argument("to set ", shorten(key), ", ", shorten(part),
                              " must be an object, got ", describe(place));
    }
    object = &place.object();
    rest.remove_prefix(dot + 1);
  }
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

const Json* find_path(const Json& config, std::string_view path) {
  const auto dot = path.find('.');
  const Json* const found = config.find(path.substr(0, dot));
  if (found == nullptr || dot == std::string_view::npos) return found;
  return found->is_object() ? find_path(*found, path.substr(dot + 1)) : nullptr;
}

// Takes the value of ConfigOverride::from out of the config.
Result<Json> take_renamed(Json& config, const ConfigOverride& change) {
  const Json* const found = find_path(config, change.from);
  if (found == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& member : config.object()) names.push_back(member.first);
    return invalid_argument("the key that stands for ", shorten(change.key),
                            " must be in the config, got ", shorten(change.from),
                            did_you_mean(change.from, names));
  }
  if (const Json* const there = find_path(config, change.key);
      there != nullptr && !there->is_null()) {
    return invalid_argument(shorten(change.from), " cannot stand for ", shorten(change.key),
                            ", because the config has both");
  }
  Json value = *found;
  auto object = object_around(config, change.from);
  if (!object) return std::move(object).error();
  (*object)->erase(std::string(last_part(change.from)));
  return value;
}

Status apply(Json& config, const ConfigOverride& change) {
  if (auto status = check_depth(change); !status) return status;
  Json value;
  if (change.from.empty()) {
    value = override_value(change.value);
  } else {
    auto taken = take_renamed(config, change);
    if (!taken) return std::move(taken).error();
    value = *std::move(taken);
  }
  auto object = object_around(config, change.key);
  if (!object) return std::move(object).error();
  (**object)[std::string(last_part(change.key))] = std::move(value);
  return {};
}

bool is_rope_dictionary(std::string_view path) {
  return last_part(path) == "rope_scaling" || last_part(path) == "rope_parameters";
}

bool is_read(const std::string& key, const std::set<std::string>& asked) {
  const std::string below = key + ".";
  const auto next = asked.lower_bound(below);
  const bool is_around = next != asked.end() && next->compare(0, below.size(), below) == 0;
  if (is_around || asked.contains(key)) return true;
  for (auto dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
    const std::string object = key.substr(0, dot);
    if (is_rope_dictionary(object) && asked.contains(object)) return true;
  }
  return false;
}

// The key that was probably meant: the shortest path to the same name (text_config.rope_theta), or
// else a key with a similar spelling.
std::string meant(std::string_view key, const std::set<std::string>& asked) {
  std::vector<std::string_view> names;
  std::string_view same;
  for (const std::string& each : asked) {
    const bool is_same = last_part(each) == last_part(key);
    if (is_same && (same.empty() || each.size() < same.size())) same = each;
    names.push_back(each);
    names.push_back(last_part(each));
  }
  if (!same.empty()) return message("; did you mean ", shorten(same), "?");
  const std::string alike = did_you_mean(key, names);
  return alike.empty() ? did_you_mean(last_part(key), names) : alike;
}

}  // namespace

Json override_value(const std::string& text) {
  auto value = parse_json(text, "value");
  return value ? *std::move(value) : Json(text);
}

Status check_overrides(std::span<const ConfigOverride> overrides,
                       const std::set<std::string>& asked, std::vector<std::string>& warnings) {
  for (const ConfigOverride& each : overrides) {
    const bool removes = each.from.empty() && override_value(each.value).is_null();
    if (removes || is_read(each.key, asked)) continue;
    if (each.unread == UnreadKey::warn) {
      warnings.push_back(message(shorten(each.key), " is set, and not read for this model",
                                 meant(each.key, asked)));
      continue;
    }
    return invalid_argument("a key to set must be one that is read for this model, got ",
                            shorten(each.key), meant(each.key, asked));
  }
  return {};
}

Status apply_overrides(Json& config, std::span<const ConfigOverride> overrides) {
  for (const ConfigOverride& each : overrides) {
    if (auto status = apply(config, each); !status) return status;
  }
  return {};
}

}  // namespace rotary
