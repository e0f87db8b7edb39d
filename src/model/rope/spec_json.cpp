// SPDX-License-Identifier: Apache-2.0
#include "rotary/spec_json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/json/config_json.hpp"
#include "model/json/spelling.hpp"
#include "model/rope/rope_parameters.hpp"

namespace rotary {
namespace {

constexpr std::array<std::string_view, 10> keys = {
    "head_dim", "rotary_dim", "first_feature", "base",     "pairing",
    "scaling",  "sense",      "xpos",          "numerics", "rounding"};
constexpr std::array<std::string_view, 2> xpos_keys = {"scale_base", "center"};

// Values that a config gives under another name, often inside the dictionary. A spec has one place
// for each, so two cannot disagree.
struct ConfigKey {
  std::string_view path;
  std::string_view name;
  std::string_view in_a_spec;
};

constexpr std::array config_keys = {ConfigKey{"", "rope_theta", "base"},
                                    ConfigKey{"", "partial_rotary_factor", "rotary_dim"},
                                    ConfigKey{"", "rope_scaling", "scaling"},
                                    ConfigKey{"", "rope_parameters", "scaling"},
                                    ConfigKey{"scaling.", "rope_theta", "base, beside scaling"},
                                    ConfigKey{"scaling.", "type", "rope_type"}};

// Unlike in a config, null differs from absence here: no key may be null.
Status refuse_null(const ConfigObject& from) {
  for (const auto& [key, value] : from.object->object()) {
    if (!value.is_null()) continue;
    return malformed_input(from.path, shorten(key), " must have a value or be left out, got null");
  }
  return {};
}

Status refuse_config_keys(const ConfigObject& from) {
  for (const ConfigKey& key : config_keys) {
    if (key.path != from.path || from.object->find(key.name) == nullptr) continue;
    return malformed_input("a spec must say ", key.in_a_spec, ", where a config says ", key.name,
                           "; got ", from.path, key.name);
  }
  return {};
}

Status refuse_other_keys(const ConfigObject& from, std::string_view owner,
                         std::span<const std::string_view> accepted) {
  for (const auto& [key, value] : from.object->object()) {
    if (std::find(accepted.begin(), accepted.end(), key) != accepted.end()) continue;
    return malformed_input(from.path, shorten(key), " is not a key of ", owner, ", which accepts ",
                           join(accepted), did_you_mean(key, accepted));
  }
  return {};
}

// reader: a read function of config_json.hpp.
template <class T>
Result<T> read_required(const ConfigObject& spec, std::string_view key,
                        Result<std::optional<T>> (*reader)(const ConfigObject&, std::string_view)) {
  auto value = reader(spec, key);
  if (!value) return std::move(value).error();
  if (!*value) return malformed_input(key, " must be given, got none");
  return **std::move(value);
}

Result<Pairing> read_pairing(const ConfigObject& spec) {
  const auto name = read_required(spec, "pairing", read_string);
  if (!name) return name.error();
  for (const Pairing pairing : all_pairings) {
    if (*name == to_string(pairing)) return pairing;
  }
  return malformed_input("pairing must be half, interleaved or interleaved_to_half, got ",
                         describe(*name));
}

Result<Sense> read_sense(const ConfigObject& spec) {
  const auto name = read_string(spec, "sense");
  if (!name) return name.error();
  if (!*name) return Sense::positive;
  for (const Sense sense : {Sense::positive, Sense::negative}) {
    if (**name == to_string(sense)) return sense;
  }
  return malformed_input("sense must be positive or negative, got ", describe(**name));
}

Result<std::optional<Xpos>> read_xpos(const ConfigObject& spec) {
  const Json* const value = find(spec, "xpos");
  if (value == nullptr) return std::optional<Xpos>();
  if (!value->is_object()) {
    return malformed_input("xpos must be an object, got ", describe(*value));
  }
  const ConfigObject from{.object = value, .path = "xpos."};
  if (auto status = refuse_null(from); !status) return std::move(status).error();
  if (auto status = refuse_other_keys(from, "xpos", xpos_keys); !status) {
    return std::move(status).error();
  }
  const auto scale_base = read_number(from, "scale_base");
  if (!scale_base) return scale_base.error();
  const auto center = read_number(from, "center");
  if (!center) return center.error();
  Xpos xpos;
  xpos.scale_base = scale_base->value_or(xpos.scale_base);
  xpos.center = center->value_or(xpos.center);
  return std::optional(xpos);
}

// The enumerator with this name; the first of `all` if the key is absent.
template <class Enum, std::size_t Count>
Result<Enum> read_name(const ConfigObject& spec, std::string_view key,
                       const std::array<Enum, Count>& all) {
  const auto name = read_string(spec, key);
  if (!name) return name.error();
  if (!*name) return all.front();
  std::array<std::string_view, Count> names;
  std::transform(all.begin(), all.end(), names.begin(), [](Enum each) { return to_string(each); });
  const auto found = std::find(names.begin(), names.end(), **name);
  if (found != names.end()) return all[static_cast<std::size_t>(found - names.begin())];
  return malformed_input(key, " must be one of ", join(names), ", got ", describe(**name));
}

Result<Scaling> read_scaling(const ConfigObject& spec) {
  const Json* const value = find(spec, "scaling");
  if (value == nullptr) return Scaling(NoScaling{});
  if (!value->is_object()) {
    return malformed_input("scaling must be an object, got ", describe(*value));
  }
  const ConfigObject scaling{.object = value, .path = "scaling."};
  if (auto status = refuse_null(scaling); !status) return std::move(status).error();
  if (auto status = refuse_config_keys(scaling); !status) return std::move(status).error();
  return read_spec_scaling(scaling);
}

Result<RotarySpec> read_spec(const ConfigObject& spec) {
  for (const auto check : {refuse_null, refuse_config_keys}) {
    if (auto status = check(spec); !status) return std::move(status).error();
  }
  if (auto status = refuse_other_keys(spec, "a spec", keys); !status) {
    return std::move(status).error();
  }
  const auto head_dim = read_required(spec, "head_dim", read_integer);
  if (!head_dim) return head_dim.error();
  const auto rotary_dim = read_integer(spec, "rotary_dim");
  if (!rotary_dim) return rotary_dim.error();
  const auto first_feature = read_integer(spec, "first_feature");
  if (!first_feature) return first_feature.error();
  const auto base = read_required(spec, "base", read_number);
  if (!base) return base.error();
  const auto pairing = read_pairing(spec);
  if (!pairing) return pairing.error();
  const auto scaling = read_scaling(spec);
  if (!scaling) return scaling.error();
  const auto numerics = read_name(spec, "numerics", all_numerics);
  if (!numerics) return numerics.error();
  const auto rounding = read_name(spec, "rounding", all_roundings);
  if (!rounding) return rounding.error();
  const auto sense = read_sense(spec);
  if (!sense) return sense.error();
  const auto xpos = read_xpos(spec);
  if (!xpos) return xpos.error();
  return RotarySpec{.head_dim = *head_dim,
                    .rotary_dim = *rotary_dim,
                    .first_feature = first_feature->value_or(0),
                    .base = *base,
                    .pairing = *pairing,
                    .scaling = *scaling,
                    .sense = *sense,
                    .xpos = *xpos,
                    .numerics = *numerics,
                    .rounding = *rounding};
}

}  // namespace

Result<RotarySpec> parse_rotary_spec(std::string_view json) noexcept {
  return guarded([&]() -> Result<RotarySpec> {
    const auto object = parse_config(json, "spec");
    if (!object) return object.error();
    return read_spec({.object = &*object, .path = ""});
  });
}

}  // namespace rotary
