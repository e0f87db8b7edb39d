// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/inspection_json.hpp"

#include <string_view>
#include <utility>
#include <variant>

#include "apps/failure.hpp"
#include "cli/commands/model_text.hpp"
#include "rotary/absolute.hpp"

namespace rotary::cli {
namespace {

Json sources_json(const std::vector<ValueSource>& sources) {
  Json json = Json::object();
  for (const auto& [value, origin, key] : sources)
    json[value] = {{"origin", to_string(origin)}, {"key", text_or_null(key)}};
  return json;
}

// null if positions have one axis.
Json axes_json(const std::optional<Axes>& axes) {
  if (!axes) return {};
  return {{"pairs", axes->pairs},
          {"arrangement", to_string(axes->arrangement)},
          {"exponents", to_string(axes->exponents.get())},
          {"order", axes->order},
          {"bases", axes->bases},
          {"scales", axes->scales}};
}

Json rotary_json(const Inspection& inspection, std::size_t index) {
  const ModelRotary& rotary = inspection.model.rotary[index];
  const Frequencies& frequencies = inspection.frequencies[index];
  const HeadWindow& window = frequencies.window;
  const ContextRange& contexts = frequencies.contexts;
  const bool is_open = contexts.last == ContextRange{}.last;
  const auto turning_within = [&](std::optional<std::int64_t> tokens) {
    return tokens ? Json(pairs_that_turn(frequencies, *tokens)) : Json();
  };
  return {
      {"layer_type", rotary.layer_type},
      {"head_dim", window.head_dim},
      {"rotary_dim", window.rotary_dim},
      {"first_feature", window.first_feature},
      {"pairing", to_string(window.pairing)},
      {"sense", to_string(rotary.spec.sense)},
      {"nope_head_dim", rotary.nope_head_dim},
      {"axes", axes_json(rotary.spec.axes)},
      {"axis_of_pair", frequencies.axes.of_pair},
      {"blocks", window.blocks},
      {"numerics", to_string(rotary.spec.numerics)},
      {"rounding", to_string(rotary.spec.rounding)},
      {"base", rotary.spec.base.get()},
      {"rope_type", rope_type(rotary.spec.scaling)},
      {"scaling", scaling_json(rotary.spec.scaling)},
      {"attention_factor", frequencies.attention_factor},
      {"softmax_factor", rotary.softmax_factor},
      {"inv_freq", frequencies.inv_freq},
      {"wavelength_tokens", json_array(frequencies.inv_freq, wavelength_tokens)},
      {"context_tokens", inspection.context_tokens},
      {"contexts", {{"first", contexts.first}, {"last", is_open ? Json() : Json(contexts.last)}}},
      {"trained_context_tokens", rotary.trained_context_tokens},
      {"pairs_turning_in_trained_context", turning_within(rotary.trained_context_tokens)},
      {"pairs_turning_in_context", turning_within(inspection.context_tokens)},
      {"sources", sources_json(rotary.sources)}};
}

Json layer_json(const ModelLayer& layer) {
  Json json = {{"encoding", to_string(layer.encoding)}};
  if (layer.encoding == LayerEncoding::rotary) json["rotary"] = layer.rotary;
  if (const auto* const step = std::get_if<StepTemperature>(&layer.query_temperature)) {
    json["query_temperature"] = {{"rule", "step"},
                                 {"scale", step->scale},
                                 {"interval_tokens", step->interval_tokens},
                                 {"offset", step->offset}};
  } else if (const auto* const logn = std::get_if<LognTemperature>(&layer.query_temperature)) {
    json["query_temperature"] = {{"rule", "logn"}, {"trained_tokens", logn->trained_tokens}};
  } else if (const auto* const power = std::get_if<PowerTemperature>(&layer.query_temperature)) {
    json["query_temperature"] = {{"rule", "power"},
                                 {"exponent", power->exponent},
                                 {"interval_tokens", power->interval_tokens}};
  }
  return json;
}

Json part_rotary_json(const ModelRotary& rotary) {
  const RotarySpec& spec = rotary.spec;
  return {{"layer_type", rotary.layer_type},
          {"head_dim", spec.head_dim},
          {"rotary_dim", spec.rotary_dim.value_or(spec.head_dim - spec.first_feature)},
          {"pairing", to_string(spec.pairing)},
          {"base", spec.base.get()},
          {"axes", axes_json(spec.axes)}};
}

Json part_json(const InspectedPart& part) {
  Json json = {{"part", to_string(part.info.part)},
               {"config_part", text_or_null(part.info.config_part)},
               {"model_type", text_or_null(part.info.model_type)},
               {"layers", nullptr},
               {"encodings", Json::array()},
               {"rotary", Json::array()},
               {"error", text_or_null(part.error)}};
  if (!part.model) return json;
  json["layers"] = part.model->layers.size();
  for (const LayerGroup& group : layer_groups(*part.model))
    json["encodings"].push_back(to_string(group.encoding));
  json["rotary"] = json_array(part.model->rotary, part_rotary_json);
  return json;
}

Json gguf_json(const GgufModel& gguf) {
  const auto& pairing = gguf.checkpoint_pairing;
  return {{"rope_type", gguf.rope_type},
          {"rows", gguf.rows ? Json(to_string(*gguf.rows)) : Json()},
          {"checkpoint_pairing", pairing ? Json(to_string(*pairing)) : Json()},
          {"unstated", gguf.unstated}};
}

}  // namespace

Json scaling_json(const Scaling& scaling) {
  Json json = Json::object();
  for (const auto& [facts, value] : scaling_parameters(scaling))
    json[facts.name] = std::visit([](const auto& held) { return Json(held); }, value);
  return json;
}

Json sinusoidal_members(const SinusoidalSpec& spec) {
  return {{"dim", spec.dim},
          {"base", spec.base.get()},
          {"layout", to_string(spec.layout.get())},
          {"spacing", to_string(spec.spacing.get())},
          {"position_offset", spec.position_offset},
          {"zero_position", spec.zero_position},
          {"inv_freq", value_or_fail(make_sinusoidal(spec), "config").inv_freq}};
}

Json bias_members(const RelativeBias& bias) {
  if (const auto* const alibi = std::get_if<Alibi>(&bias)) {
    return {{"bias", "alibi"},
            {"form", alibi->form == AlibiForm::symmetric      ? "symmetric"
                     : alibi->form == AlibiForm::key_position ? "key_position"
                                                              : "causal"},
            {"slopes", value_or_fail(alibi_slopes(*alibi), "config")}};
  }
  const auto& [buckets, table] = std::get<T5Bias>(bias);
  const bool both = buckets.direction == T5Direction::bidirectional;
  return {{"bias", "t5"},
          {"heads", table.features},
          {"buckets", buckets.buckets},
          {"max_distance", buckets.max_distance},
          {"direction", both ? "bidirectional" : "causal"}};
}

Json inspection_json(const Inspection& inspection) {
  const ModelSpec& model = inspection.model;
  Json rotary = Json::array();
  for (std::size_t i = 0; i < model.rotary.size(); ++i)
    rotary.push_back(rotary_json(inspection, i));
  Json encoder;
  if (const auto& own = model.encoder) {
    encoder = sinusoidal_members(own->sinusoidal);
    encoder.update({{"encoding", to_string(own->encoding)},
                    {"layers", own->layers},
                    {"positions", own->positions},
                    {"sources", sources_json(own->sources)}});
  }
  Json map;
  if (const auto& chunks = model.dual_chunk)
    map = {{"map", "dual_chunk"}, {"chunk", chunks->chunk}, {"local", chunks->local}};
  return {{"schema_version", 1},
          {"model_type", text_or_null(model.model_type)},
          {"config_part", text_or_null(model.config_part)},
          {"rotary", std::move(rotary)},
          {"layers", json_array(model.layers, layer_json)},
          {"encoder", std::move(encoder)},
          {"sinusoidal", model.sinusoidal ? sinusoidal_members(*model.sinusoidal) : Json()},
          {"relative_bias", model.relative_bias ? bias_members(*model.relative_bias) : Json()},
          {"position_map", std::move(map)},
          {"softcap", model.softcap},
          {"gguf", model.gguf ? gguf_json(*model.gguf) : Json()},
          {"parts", json_array(inspection.parts, part_json)},
          {"sources", sources_json(model.sources)},
          {"warnings", model.warnings}};
}

}  // namespace rotary::cli
