// SPDX-License-Identifier: Apache-2.0
#include "model/layers/resolve_layers.hpp"

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

#include "model/layers/layer_types.hpp"
#include "model/resolve_json.hpp"

namespace rotary {
namespace {

using Rotates = std::vector<bool>;  // one per layer

// The list under this key, with at least one entry for each layer; empty if absent.
std::vector<double> read_per_layer(const ModelConfig& config, std::string_view key) {
  auto values = config.reader.numbers(key).value_or(std::vector<double>());
  if (!values.empty() && static_cast<std::int64_t>(values.size()) < *config.layers) {
    config.reader.malformed(key, " must have one entry for each layer, ", *config.layers, "; got ",
                            values.size());
    return {};
  }
  return values;
}

// 1 means that the layer rotates, despite the key's name.
Rotates by_no_rope_layers(const ModelConfig& config) {
  const auto list = read_per_layer(config, "no_rope_layers");
  const std::int64_t every = config.reader.integer("no_rope_layer_interval").value_or(4);
  Rotates rotates(static_cast<std::size_t>(*config.layers), true);
  if (every < 1) {
    config.reader.malformed("no_rope_layer_interval must be >= 1, got ", every);
    return rotates;
  }
  for (std::size_t i = 0; i < rotates.size(); ++i) {
    if (list.empty()) {
      rotates[i] = (static_cast<std::int64_t>(i) + 1) % every != 0;
      continue;
    }
    rotates[i] = list[i] == 1;
    if (list[i] != 0 && list[i] != 1) {
      config.reader.malformed("no_rope_layers must hold 0 and 1, got ", list[i]);
      return rotates;
    }
  }
  return rotates;
}

template <class Holds>
Rotates where(const ModelConfig& config, Holds holds) {
  Rotates rotates(static_cast<std::size_t>(*config.layers));
  for (std::size_t i = 0; i < rotates.size(); ++i) rotates[i] = holds(i);
  return rotates;
}

// If the key is absent, mllama's cross-attention layers are layer 3 and every fifth layer after it.
Rotates by_cross_attention(const ModelConfig& config) {
  const auto list = config.reader.numbers("cross_attention_layers");
  return where(config, [&](std::size_t i) {
    return list ? std::ranges::find(*list, static_cast<double>(i)) == list->end() : i % 5 != 3;
  });
}

Rotates by_base(const ModelConfig& config) {
  const auto list = read_per_layer(config, "layer_rope_theta");
  return where(config, [&](std::size_t i) { return list.empty() || list[i] != 0; });
}

// Muse: the list says only which layers rotate; the base is that of rope_parameters.
Rotates by_nonzero_theta(const ModelConfig& config, double base) {
  for (const double each : read_per_layer(config, "layer_rope_theta")) {
    if (each == 0 || each == base) continue;
    config.reader.warn("layer_rope_theta ", each, " turns as rope_theta, ", base,
                       ", as in Transformers: the list counts only where it is 0");
    break;
  }
  return by_base(config);
}

Rotates by_parameters(const ModelConfig& config) {
  const RopeLayout& layout = config.layout;
  return where(config, [&](std::size_t i) {
    return !layout.is_nested || i >= config.layer_types.size() ||
           std::ranges::find(layout.ropes, config.layer_types[i], &LayerTypeRope::layer_type) !=
               layout.ropes.end();
  });
}

Rotates by_window(const ModelConfig& config) {
  const auto& types = config.layer_types;
  return where(config,
               [&](std::size_t i) { return i >= types.size() || types[i] == "sliding_attention"; });
}

// Notes the list that says which layers rotate.
void note_list(const ModelConfig& config, std::string_view key, Sources& sources) {
  note(sources, "layer_types", stated_if(config.reader.find(key) != nullptr), key);
}

Rotates rotating_layers(const ModelConfig& config, ModelSpec& model) {
  Rotates all(static_cast<std::size_t>(*config.layers), true);
  Sources& sources = model.sources;
  switch (config.family.layers.rotating) {
    case RotaryLayers::all:
      return all;
    case RotaryLayers::sliding:
      return by_window(config);
    case RotaryLayers::sliding_if_windowed:
      return config.reader.is_null("sliding_window") ? all : by_window(config);
    case RotaryLayers::no_rope_layers:
      note_list(config, "no_rope_layers", sources);
      return by_no_rope_layers(config);
    case RotaryLayers::layer_rope_theta:
      note_list(config, "layer_rope_theta", sources);
      return by_base(config);
    case RotaryLayers::nonzero_theta:
      note_list(config, "layer_rope_theta", sources);
      if (config.reader.find("layer_rope_theta") == nullptr) return by_window(config);
      return by_nonzero_theta(config, model.rotary.front().spec.base.get());
    case RotaryLayers::but_cross_attention:
      note_list(config, "cross_attention_layers", sources);
      return by_cross_attention(config);
    case RotaryLayers::with_parameters:
      return by_parameters(config);
  }
  return all;
}

QueryTemperature temperature_of_beta(const ModelConfig& config) {
  const LayerTypeRope& rope = config.layout.ropes.front();
  if (rope.llama_4_scaling_beta == 0) return NoTemperature{};
  Reader dictionary(rope.dictionary, rope.path, config.reader.findings());
  const auto original = dictionary.integer("original_max_position_embeddings");
  if (original.value_or(0) < 1) {
    dictionary.malformed(
        "original_max_position_embeddings must be given and >= 1, because llama_4_scaling_beta is; "
        "got ",
        text_or_none(original));
  }
  return StepTemperature{
      .scale = rope.llama_4_scaling_beta, .interval_tokens = original.value_or(0), .offset = 0};
}

// attn_temperature_tuning: true, absence or a number except 0 (published configs have 4) means yes.
bool tunes_temperature(Reader& config) {
  constexpr std::string_view key = "attn_temperature_tuning";
  const Json* const value = config.find(key);
  if (value != nullptr && value->is_number()) return value->number() != 0;
  return config.boolean(key).value_or(true);
}

// The temperature of layers that do not rotate, with the defaults of configuration_llama4.py.
QueryTemperature temperature_of_llama4(Reader& config) {
  const bool is_on = tunes_temperature(config);
  const std::int64_t interval = config.integer("floor_scale").value_or(8192);
  const double scale = config.number("attn_scale").value_or(0.1);
  if (!is_on) return NoTemperature{};
  if (interval < 1 || !(scale >= 0)) {
    config.malformed("floor_scale must be >= 1 and attn_scale >= 0, got ", interval, " and ",
                     scale);
  }
  return StepTemperature{.scale = scale, .interval_tokens = interval, .offset = 1};
}

// Qwen 1.
QueryTemperature temperature_of_logn(Reader& config) {
  const auto trained = config.integer("seq_length");
  if (!config.boolean("use_logn_attn").value_or(false)) return NoTemperature{};
  if (trained.value_or(0) < 2) {
    config.malformed("seq_length must be given and > 1, because use_logn_attn is true; got ",
                     text_or_none(trained));
  }
  return LognTemperature{.trained_tokens = trained.value_or(0)};
}

struct Temperatures {
  QueryTemperature rotating;
  QueryTemperature others;
};

Temperatures read_temperatures(const ModelConfig& config, Sources& sources) {
  Temperatures read;
  const auto note_keys = [&](Origin origin, std::string_view key) {
    if (!std::holds_alternative<NoTemperature>(read.others) ||
        !std::holds_alternative<NoTemperature>(read.rotating)) {
      note(sources, "query_temperature", origin, key);
    }
  };
  switch (config.family.layers.temperature) {
    case TemperatureKeys::none:
      return read;
    case TemperatureKeys::llama4:
      read.others = temperature_of_llama4(config.reader);
      for (const std::string_view key : {"attn_scale", "floor_scale", "attn_temperature_tuning"}) {
        const bool is_given = config.reader.find(key) != nullptr;
        note_keys(stated_if(is_given), key);
        if (!is_given) break;
      }
      return read;
    case TemperatureKeys::llama_4_scaling_beta:
      read.rotating = temperature_of_beta(config);
      note_keys(config.layout.ropes.front().origin, "llama_4_scaling_beta");
      break;
    case TemperatureKeys::beam:
      read.others = PowerTemperature{.exponent = 0.1, .interval_tokens = 2048};
      note(sources, "query_temperature", Origin::family);
      return read;
    case TemperatureKeys::use_logn_attn:
      read.rotating = temperature_of_logn(config.reader);
      note_keys(Origin::stated, "use_logn_attn");
      break;
  }
  read.others = read.rotating;
  return read;
}

bool attends(const ModelConfig& config, std::size_t layer) {
  return layer >= config.layer_types.size() || has_attention(config.layer_types[layer]);
}

bool is_cross_attention(const ModelConfig& config, std::size_t layer) {
  return layer < config.layer_types.size() && config.layer_types[layer] == cross_attention;
}

}  // namespace

void resolve_layers(const ModelConfig& config, ModelSpec& model) {
  const Family& family = config.family;
  if (!family.warning.empty()) config.reader.findings().warn(family.warning);
  resolve_added(config, model);
  if (!config.layers) {
    config.reader.warn(family.keys.layers, " is absent, so no layers are listed",
                       family.note.empty() ? "" : "; of this family: ", family.note);
    return;
  }
  model.layers.resize(static_cast<std::size_t>(*config.layers), ModelLayer{});
  const bool is_rotary = config.encoding == LayerEncoding::rotary;
  const Rotates rotates = is_rotary ? rotating_layers(config, model) : Rotates();
  const Temperatures temperatures =
      is_rotary ? read_temperatures(config, model.sources) : Temperatures();
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
}

}  // namespace rotary
