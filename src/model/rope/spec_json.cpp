// SPDX-License-Identifier: Apache-2.0
#include "rotary/spec_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "base/spelling.hpp"
#include "model/json/config_json.hpp"
#include "model/json/reader.hpp"
#include "model/rope/scaling_readers.hpp"

namespace rotary {
namespace {

constexpr std::array<std::string_view, 12> keys = {
    "head_dim", "rotary_dim", "first_feature", "base",     "pairing", "scaling",
    "sense",    "xpos",       "numerics",      "rounding", "axes",    "blocks"};
constexpr std::array<std::string_view, 6> axes_keys = {"pairs", "arrangement", "exponents",
                                                       "order", "bases",       "scales"};
constexpr std::array<std::string_view, 2> xpos_keys = {"scale_base", "center"};

// A key of configs that a spec has under another name or in another place.
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

// Adds an error for a key that is null, which only a config may have.
void refuse_null(Reader& from) {
  for (const auto& [key, value] : from.members()) {
    if (!value.is_null()) continue;
    from.malformed(shorten(key), " must have a value or be left out, got null");
    return;
  }
}

void refuse_config_keys(Reader& from) {
  for (const ConfigKey& key : config_keys) {
    if (key.path != from.path() || !from.has(key.name)) continue;
    from.findings().fail(malformed_input("a spec must say ", key.in_a_spec,
                                         ", where a config says ", key.name, "; got ", from.path(),
                                         key.name));
  }
}

void refuse_other_keys(Reader& from, std::string_view owner,
                       std::span<const std::string_view> accepted) {
  from.accept(accepted);
  auto error = from.error_about_others(ErrorCode::malformed_input,
                                       message(" is not a key of ", owner, ", which accepts "));
  if (error) from.findings().fail(*std::move(error));
}

template <class Enum, std::size_t Count>
std::string names_of(const std::array<Enum, Count>& all) {
  std::array<std::string_view, Count> names;
  std::transform(all.begin(), all.end(), names.begin(), [](Enum each) { return to_string(each); });
  return message("one of ", join(names));
}

Pairing read_pairing(Reader& spec) {
  if (spec.find("pairing") == nullptr) spec.malformed("pairing must be given, got none");
  return read_enumerator(spec, "pairing", Pairing::half);
}

std::optional<Xpos> read_xpos(Reader& spec) {
  auto reader = spec.object("xpos");
  if (!reader) return std::nullopt;
  refuse_null(*reader);
  refuse_other_keys(*reader, "xpos", xpos_keys);
  Xpos xpos;
  xpos.scale_base = reader->number("scale_base").value_or(xpos.scale_base);
  xpos.center = reader->number("center").value_or(xpos.center);
  return xpos;
}

std::vector<std::int64_t> read_integers(Reader& from, std::string_view key) {
  std::vector<std::int64_t> integers;
  for (const double each : from.numbers(key).value_or(std::vector<double>())) {
    if (std::abs(each) > 0x1p53 || each != std::trunc(each)) {
      from.malformed(key, " must be integers, got ", each);
      return {};
    }
    integers.push_back(static_cast<std::int64_t>(each));
  }
  return integers;
}

// Adds an error for an empty list, which would mean no list.
void refuse_empty(Reader& axes) {
  for (const std::string_view key : {"order", "bases", "scales"}) {
    const Json* const value = axes.find(key);
    if (value != nullptr && value->is_array() && value->array().empty())
      axes.malformed(key, " must have one entry for each axis or be left out, got []");
  }
}

std::optional<Axes> read_axes(Reader& spec) {
  auto reader = spec.object("axes");
  if (!reader) return std::nullopt;
  refuse_null(*reader);
  refuse_other_keys(*reader, "axes", axes_keys);
  refuse_empty(*reader);
  if (!reader->has("pairs")) reader->malformed("pairs must be given, got none");
  if (!reader->has("exponents")) reader->malformed("exponents must be given, got none");
  return Axes{.pairs = read_integers(*reader, "pairs"),
              .arrangement = read_enumerator(*reader, "arrangement", AxisArrangement::blocks),
              .exponents = read_enumerator(*reader, "exponents", AxisExponents::shared),
              .order = read_integers(*reader, "order"),
              .bases = reader->numbers("bases").value_or(std::vector<double>()),
              .scales = reader->numbers("scales").value_or(std::vector<double>())};
}

Scaling read_scaling(Reader& spec) {
  auto scaling = spec.object("scaling");
  if (!scaling) return NoScaling{};
  refuse_null(*scaling);
  refuse_config_keys(*scaling);
  return read_spec_scaling(*scaling);
}

RotarySpec read_spec(Reader& spec) {
  refuse_null(spec);
  refuse_config_keys(spec);
  refuse_other_keys(spec, "a spec", keys);
  RotarySpec read{.head_dim = spec.required_integer("head_dim"),
                  .rotary_dim = spec.integer("rotary_dim"),
                  .first_feature = spec.integer("first_feature").value_or(0),
                  .base = spec.required_number("base"),
                  .pairing = read_pairing(spec),
                  .scaling = read_scaling(spec)};
  read.numerics = read_enumerator(spec, "numerics", read.numerics, names_of(all_numerics));
  read.rounding = read_enumerator(spec, "rounding", read.rounding, names_of(all_roundings));
  read.sense = read_enumerator(spec, "sense", read.sense);
  read.xpos = read_xpos(spec);
  read.axes = read_axes(spec);
  read.blocks = spec.integer("blocks").value_or(1);
  return read;
}

}  // namespace

Result<RotarySpec> parse_rotary_spec(std::string_view json) noexcept {
  return guarded([&]() -> Result<RotarySpec> {
    const auto object = parse_config(json, "spec");
    if (!object) return object.error();
    Findings findings;
    Reader reader(*object, "", findings);
    RotarySpec spec = read_spec(reader);
    if (findings.failed()) return *std::move(findings.error);
    return spec;
  });
}

}  // namespace rotary
