// SPDX-License-Identifier: Apache-2.0
#include "model/resolve_layers.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "model/layer_types.hpp"

namespace rotary {
namespace {

using Rotates = std::vector<bool>;  // one per layer

// The list under this key, with at least one entry per layer; empty if absent.
Result<std::vector<double>> read_per_layer(const ModelConfig& config, std::string_view key) {
  const auto list = read_numbers(config.object, key);
  if (!list) return list.error();
  auto values = list->value_or(std::vector<double>());
  if (!values.empty() && static_cast<std::int64_t>(values.size()) < *config.layers) {
    return malformed_input(config.object.path, key, " must have one entry for each layer, ",
                           *config.layers, "; got ", values.size());
  }
  return values;
}

// 1 means that the layer rotates, despite the key's name.
Result<Rotates> by_no_rope_layers(const ModelConfig& config) {
  const auto list = read_per_layer(config, "no_rope_layers");
  if (!list) return list.error();
  const auto interval = read_integer(config.object, "no_rope_layer_interval");
  if (!interval) return interval.error();
  const std::int64_t every = interval->value_or(4);
  if (every < 1) {
    return malformed_input(config.object.path, "no_rope_layer_interval must be >= 1, got ", every);
  }
  Rotates rotates;
  for (std::size_t i = 0; i < static_cast<std::size_t>(*config.layers); ++i) {
    if (list->empty()) {
      rotates.push_back((static_cast<std::int64_t>(i) + 1) % every != 0);
    } else if ((*list)[i] == 0 || (*list)[i] == 1) {
      rotates.push_back((*list)[i] == 1);
    } else {
      return malformed_input(config.object.path, "no_rope_layers must hold 0 and 1, got ",
                             (*list)[i]);
    }
  }
  return rotates;
}

Result<Rotates> by_base(const ModelConfig& config) {
  const auto list = read_per_layer(config, "layer_rope_theta");
  if (!list) return list.error();
  Rotates rotates(static_cast<std::size_t>(*config.layers), true);
  for (std::size_t i = 0; i < rotates.size() && !list->empty(); ++i) rotates[i] = (*list)[i] != 0;
  return rotates;
}

Rotates by_window(const ModelConfig& config) {
  Rotates rotates(static_cast<std::size_t>(*config.layers), true);
  for (std::size_t i = 0; i < config.layer_types.size(); ++i)
    rotates[i] = config.layer_types[i] == "sliding_attention";
  return rotates;
}

Result<Rotates> rotating_layers(const ModelConfig& config) {
  const Rotates all(static_cast<std::size_t>(*config.layers), true);
  switch (config.family.rotary_layers) {
    case RotaryLayers::all:
      return all;
    case RotaryLayers::sliding:
      return by_window(config);
    case RotaryLayers::sliding_if_windowed: {
      const bool says_no_window = config.object.object->find("sliding_window") != nullptr &&
                                  find(config.object, "sliding_window") == nullptr;
      return says_no_window ? all : by_window(config);
    }
    case RotaryLayers::no_rope_layers:
      return by_no_rope_layers(config);
    case RotaryLayers::layer_rope_theta:
      return by_base(config);
  }
  return all;
}

Result<QueryTemperature> temperature_of_beta(const ModelConfig& config) {
  const LayerTypeRope& rope = config.layout.ropes.front();
  if (rope.llama_4_scaling_beta == 0) return QueryTemperature();
  const auto original = read_integer({.object = &rope.dictionary, .path = rope.path},
                                     "original_max_position_embeddings");
  if (!original) return original.error();
  if (original->value_or(0) < 1) {
    return malformed_input(rope.path,
                           "original_max_position_embeddings must be given and >= 1, because "
                           "llama_4_scaling_beta is; got ",
                           *original ? to_text(**original) : std::string("none"));
  }
  return QueryTemperature(StepTemperature{
      .scale = rope.llama_4_scaling_beta, .interval_tokens = **original, .offset = 0});
}

// attn_temperature_tuning: true or absence means yes; published configs also use the number 4.
Result<bool> tunes_temperature(const ConfigObject& config) {
  constexpr std::string_view key = "attn_temperature_tuning";
  const Json* const value = find(config, key);
  if (value != nullptr && value->is_number()) return value->number() != 0;
  const auto is_on = read_boolean(config, key);
  if (!is_on) return is_on.error();
  return is_on->value_or(true);
}

// Temperature of the layers that do not rotate, with the defaults of configuration_llama4.py.
Result<QueryTemperature> temperature_of_llama4(const ModelConfig& config) {
  const auto is_on = tunes_temperature(config.object);
  if (!is_on) return is_on.error();
  const auto interval = read_integer(config.object, "floor_scale");
  if (!interval) return interval.error();
  const auto scale = read_number(config.object, "attn_scale");
  if (!scale) return scale.error();
  if (!*is_on) return QueryTemperature();
  const StepTemperature rule{
      .scale = scale->value_or(0.1), .interval_tokens = interval->value_or(8192), .offset = 1};
  if (rule.interval_tokens < 1 || !(rule.scale >= 0)) {
    return malformed_input(config.object.path, "floor_scale must be >= 1 and attn_scale >= 0, got ",
                           rule.interval_tokens, " and ", rule.scale);
  }
  return QueryTemperature(rule);
}

// Qwen 1. Its other switch raises the base for contexts beyond seq_length.
Result<QueryTemperature> temperature_of_logn(const ModelConfig& config,
                                             std::vector<std::string>& warnings) {
  const std::string& path = config.object.path;
  const auto is_dynamic = read_boolean(config.object, "use_dynamic_ntk");
  if (!is_dynamic) return is_dynamic.error();
  const auto trained = read_integer(config.object, "seq_length");
  if (!trained) return trained.error();
  if (is_dynamic->value_or(false)) {
    warnings.push_back(
        message(path,
                "use_dynamic_ntk raises the base with the length of contexts beyond "
                "seq_length, which is not supported: the frequencies are right up to "
                "it"));
  }
  const auto is_on = read_boolean(config.object, "use_logn_attn");
  if (!is_on) return is_on.error();
  if (!is_on->value_or(false)) return QueryTemperature();
  if (trained->value_or(0) < 2) {
    return malformed_input(path,
                           "seq_length must be given and > 1, because use_logn_attn is true; ",
                           "got ", *trained ? to_text(**trained) : std::string("none"));
  }
  return QueryTemperature(LognTemperature{.trained_tokens = **trained});
}

struct Temperatures {
  QueryTemperature rotating;
  QueryTemperature others;
};

Result<Temperatures> read_temperatures(const ModelConfig& config,
                                       std::vector<std::string>& warnings) {
  Result<QueryTemperature> read = QueryTemperature();
  switch (config.family.temperature) {
    case TemperatureKeys::none:
      return Temperatures();
    case TemperatureKeys::llama4:
      read = temperature_of_llama4(config);
      if (!read) return std::move(read).error();
      return Temperatures{.rotating = {}, .others = *read};
    case TemperatureKeys::llama_4_scaling_beta:
      read = temperature_of_beta(config);
      break;
    case TemperatureKeys::use_logn_attn:
      read = temperature_of_logn(config, warnings);
      break;
  }
  if (!read) return std::move(read).error();
  return Temperatures{.rotating = *read, .others = *read};
}

bool attends(const ModelConfig& config, std::size_t layer) {
  return layer >= config.layer_types.size() || has_attention(config.layer_types[layer]);
}

bool is_cross_attention(const ModelConfig& config, std::size_t layer) {
  return layer < config.layer_types.size() && config.layer_types[layer] == cross_attention;
}

}  // namespace

Status resolve_layers(const ModelConfig& config, ModelSpec& model) {
  if (!config.layers) {
    model.warnings.push_back(message(
        config.object.path, config.family.keys.layers, " is absent, so no layers are listed",
        config.family.note.empty() ? "" : "; of this family: ", config.family.note));
    return {};
  }
  model.layers.resize(static_cast<std::size_t>(*config.layers), ModelLayer{});
  const bool is_rotary = config.encoding == LayerEncoding::rotary;
  Temperatures temperatures;
  Rotates rotates;
  if (is_rotary) {
    auto read = rotating_layers(config);
    if (!read) return std::move(read).error();
    rotates = *std::move(read);
    auto factors = read_temperatures(config, model.warnings);
    if (!factors) return std::move(factors).error();
    temperatures = *std::move(factors);
  }
  const auto& ropes = config.layout.of_layer;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    ModelLayer& layer = model.layers[i];
    if (!attends(config, i)) {
      layer.encoding = LayerEncoding::no_attention;
    } else if (!is_rotary) {
      layer.encoding = config.encoding;
    } else if (rotates[i] && !is_cross_attention(config, i)) {
      layer.rotary = i < ropes.size() ? ropes[i] : 0;
      layer.query_temperature = temperatures.rotating;
    } else {
      layer.encoding = LayerEncoding::none;
      layer.query_temperature = temperatures.others;
    }
  }
  return {};
}

}  // namespace rotary
