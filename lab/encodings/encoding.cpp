// SPDX-License-Identifier: Apache-2.0

#include "lab/encodings/encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "apps/failure.hpp"
#include "lab/experiment/json_object.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/position_maps.hpp"
#include "rotary/scaling.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::lab {

namespace {

using cli::ExitCode;
using cli::Failure;
using nlohmann::json;

constexpr std::array named = std::to_array<NamedEncoding>({
    {"none", R"({"kind": "none"})", "no positions; a causal model can still count tokens"},
    {"learned", R"({"kind": "learned"})", "a learned row for each position, added to embeddings"},
    {"sinusoidal", R"({"kind": "sinusoidal", "base": 10000, "scale": 0.02})",
     "sines and cosines of the position, added to embeddings"},
    {"shaw", R"({"kind": "shaw", "window": 16})",
     "learned vectors by distance, for keys and for values"},
    {"t5", R"({"kind": "t5", "buckets": 32, "max_distance": 128})",
     "a learned bias for each bucket of distances"},
    {"alibi", R"({"kind": "alibi", "bias_max": 8})", "a bias in proportion to the distance"},
    {"kerple_log", R"({"kind": "kerple_log"})", "a learned bias, -p ln(1 + a distance)"},
    {"kerple_power", R"({"kind": "kerple_power"})", "a learned bias, -a distance^p"},
    {"tisa", R"({"kind": "tisa", "kernels": 5})", "a learned sum of bumps over the distance"},
    {"fire", R"({"kind": "fire", "width": 32, "c": 0.1, "threshold": 512})",
     "a small network of the distance relative to the query's position"},
    {"sandwich", R"({"kind": "sandwich", "base": 10000})",
     "the product of two sinusoidal encodings as a bias"},
    {"rope", R"({"kind": "rotary", "base": 10000, "pairing": "half"})",
     "rotates queries and keys by their positions"},
    {"xpos", R"({"kind": "rotary", "base": 10000, "pairing": "half", "xpos": {"scale_base": 512}})",
     "rope whose scores fade with the distance"},
    {"p-rope",
     R"({"kind": "rotary", "base": 10000, "pairing": "half",
         "scaling": {"rope_type": "proportional", "partial_rotary_factor": 0.75}})",
     "rope that does not rotate the slowest quarter of pairs"},
    {"clipped",
     R"({"kind": "rotary", "base": 10000, "pairing": "half",
         "scaling": {"rope_type": "clipped", "clipped_pairs": 4}})",
     "rope whose slowest frequencies fade to 0"},
    {"clipped-angle",
     R"({"kind": "clipped-angle", "base": 10000, "pairing": "half",
         "max_angle": 3.141592653589793})",
     "rope whose relative angles stop at half a turn"},
    {"rope-window",
     R"({"kind": "rotary", "base": 10000, "pairing": "half",
         "layers": {"window": 64, "full_every": 2}})",
     "rope; every second layer sees only a sliding window"},
});

RotarySpec read_spec(JsonObject& settings, std::int64_t head_dim) {
  json spec = {{"head_dim", head_dim}};
  for (const std::string_view key : {"base", "pairing", "scaling", "xpos", "rotary_dim", "sense"}) {
    if (settings.has(key)) spec[std::string(key)] = settings.at(key);
  }
  auto parsed = parse_rotary_spec(spec.dump());
  RotarySpec read = cli::value_or_fail(std::move(parsed), settings.name());
  // Rules that depend on the context are checked with an arbitrary length.
  (void)cli::value_or_fail(make_frequencies(read, 1), settings.name());
  return read;
}

RotaryEncoding read_rotary(JsonObject& settings, const json& object, std::int64_t head_dim) {
  RotaryEncoding rotary{.spec = read_spec(settings, head_dim)};
  if (object.contains("layers")) {
    JsonObject layers = settings.object("layers");
    rotary.layers = {.window = layers.integer("window", 1),
                     .full_every = layers.integer("full_every", 1)};
    layers.finish();
  }
  return rotary;
}

ClippedAngleEncoding read_clipped_angle(JsonObject& settings, std::int64_t head_dim) {
  ClippedAngleEncoding clipped{.spec = read_spec(settings, head_dim),
                               .max_angle = settings.number("max_angle")};
  cli::ok_or_fail(validate(PositionMap(ClippedAngle{.max_angle = clipped.max_angle})),
                  settings.name());
  const bool fits = !clipped.spec.xpos && keeps_order(clipped.spec.pairing);
  if (fits) return clipped;
  throw Failure(
      ExitCode::malformed_input,
      fmt::format("{} must have a pairing that moves no pairs, and no xpos", settings.name()));
}

std::optional<BiasEncoding> read_bias(JsonObject& settings, std::string_view kind) {
  auto bias = relative_bias_named(kind);
  if (!bias) return std::nullopt;
  BiasEncoding encoding{.bias = *std::move(bias)};
  if (auto* t5 = std::get_if<T5Bias>(&encoding.bias)) {
    t5->buckets.buckets = settings.integer("buckets", 4);
    t5->buckets.max_distance = settings.integer("max_distance", 3);
    if (settings.has("initial_std")) encoding.initial_std = settings.number("initial_std");
  } else if (auto* alibi = std::get_if<Alibi>(&encoding.bias)) {
    alibi->bias_max = settings.number("bias_max");
  } else if (auto* sandwich = std::get_if<Sandwich>(&encoding.bias)) {
    sandwich->base = settings.number("base");
  } else if (auto* fire = std::get_if<Fire>(&encoding.bias)) {
    fire->hidden_weight.resize(static_cast<std::size_t>(settings.integer("width", 1)));
    fire->c = settings.number("c");
    fire->threshold = settings.number("threshold");
  } else if (auto* tisa = std::get_if<Tisa>(&encoding.bias)) {
    tisa->kernels = settings.integer("kernels", 1);
  }
  return encoding;
}

const NamedEncoding& find_named(std::string_view name) {
  const auto* found = std::ranges::find(named, name, &NamedEncoding::name);
  if (found != named.end()) return *found;
  const auto names = named | std::views::transform(&NamedEncoding::name);
  throw Failure(ExitCode::usage, fmt::format("an encoding must be one of {}, got '{}'",
                                             fmt::join(names, ", "), name));
}

}  // namespace

std::span<const NamedEncoding> named_encodings() noexcept { return named; }

json encoding_settings(const json& entry) {
  const std::string like =
      entry.is_string() ? entry.get<std::string>() : JsonObject(entry, "an encoding").text("like");
  json settings = parse_json(find_named(like).settings, like);
  settings["name"] = like;
  if (entry.is_string()) return settings;
  bool changes = false;
  for (const auto& [key, value] : entry.items()) {
    changes = changes || (key != "like" && key != "name");
    if (key != "like") settings[key] = value;
  }
  if (!changes || settings["name"] != json(like)) return settings;
  throw Failure(ExitCode::malformed_input,
                fmt::format("an encoding like {} must have its own \"name\"", like));
}

Encoding parse_encoding(const json& object, std::int64_t head_dim) {
  const std::string name = JsonObject(object, "an encoding").text("name");
  JsonObject settings(object, fmt::format("encoding {}", name));
  const std::string kind = settings.text("kind");
  (void)settings.text("name");
  Encoding encoding{.name = name, .kind = NoEncoding{}};
  if (kind == "learned") {
    encoding.kind = LearnedEncoding{};
  } else if (kind == "sinusoidal") {
    encoding.kind =
        SinusoidalEncoding{.base = settings.number("base"), .scale = settings.number("scale")};
  } else if (kind == "shaw") {
    encoding.kind = ShawEncoding{.window = settings.integer("window", 1)};
  } else if (kind == "rotary") {
    encoding.kind = read_rotary(settings, object, head_dim);
  } else if (kind == "clipped-angle") {
    encoding.kind = read_clipped_angle(settings, head_dim);
  } else if (auto bias = read_bias(settings, kind)) {
    encoding.kind = *std::move(bias);
  } else if (kind != "none") {
    throw Failure(ExitCode::malformed_input,
                  fmt::format("{}: there is no kind '{}'", settings.name(), kind));
  }
  settings.finish();
  return encoding;
}

namespace {

constexpr double dynamic_factor = 2;
constexpr double adjusted_base = 500000;

}  // namespace

bool is_rescaling_rule(std::string_view rule) noexcept {
  return std::ranges::find(rescaling_rules, rule) != rescaling_rules.end();
}

RotarySpec rescaled(RotarySpec spec, std::string_view rule, const Stretch& stretch) {
  const auto factor = static_cast<double>(stretch.factor);
  if (rule == "linear") spec.scaling = LinearScaling{.factor = factor};
  if (rule == "ntk") spec.scaling = NtkScaling{.alpha = factor};
  if (rule == "dynamic") {
    spec.scaling =
        DynamicNtkScaling{.factor = dynamic_factor, .original_context_tokens = stretch.tokens};
  }
  if (rule == "yarn")
    spec.scaling = YarnScaling{.factor = factor, .original_context_tokens = stretch.tokens};
  if (rule == "abf") spec.base = adjusted_base;
  return spec;
}

}  // namespace rotary::lab
