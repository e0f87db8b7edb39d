// SPDX-License-Identifier: Apache-2.0
#include "model/layers/layer_types.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/spelling.hpp"
#include "model/json/config_json.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

using LayerTypes = std::vector<std::string>;

constexpr std::string_view full = "full_attention";
constexpr std::string_view sliding = "sliding_attention";
constexpr std::string_view linear = "linear_attention";

// ALLOWED_LAYER_TYPES of configuration_utils.py in Transformers 5.24, older names, and names of
// models with their own code.
constexpr std::string_view with_attention =
    "full_attention sliding_attention chunked_attention window_attention indexed_attention "
    "compressed_sparse_attention heavily_compressed_attention minimax_m3_sparse hybrid "
    "hybrid_sliding reference_sliding_attention attention deepseek_sparse_attention "
    "qwen_sparse_attention cross_attention";
constexpr std::string_view without_attention =
    "linear_attention mamba mamba2 conv recurrent mlp moe linear lightning";

// True if the config has a rope dictionary for each layer type. Layers then have no other types.
bool has_dictionaries(const Reader& config) {
  const auto has_one = [&](std::string_view key) {
    const Json* const found = config.find(key);
    return found != nullptr && found->size() != 0 && found->is_object() &&
           std::ranges::all_of(found->object(), [](const auto& member) {
             return member.second.is_object() || member.second.is_null();
           });
  };
  return has_one("rope_parameters") || has_one("rope_scaling");
}

// Adds an error for an unknown name, whose layer may have no attention or rotate differently.
void check_name(Reader& config, std::string_view key, const std::string& name) {
  if (has_word(with_attention, name) || has_word(without_attention, name)) return;
  std::vector<std::string_view> known;
  for (const std::string_view names : {with_attention, without_attention})
    for_each_word(names, [&](std::string_view each) { known.push_back(each); });
  config.not_supported(key, " must hold names of known layer types (", join(known), "), got ",
                       describe(name), did_you_mean(name, known));
}

LayerTypes from_list(Reader& config, std::string_view key, const Json& list) {
  const bool is_text = list.is_array() && std::ranges::all_of(list.array(), &Json::is_string);
  LayerTypes types;
  if (!is_text) {
    config.malformed(key, " must be an array of strings, got ", describe(list));
    return types;
  }
  const bool names_any = has_dictionaries(config);
  for (const Json& each : list.array()) {
    types.push_back(each.string());
    if (!names_any) check_name(config, key, types.back());
    if (config.failed()) break;
  }
  return types;
}

// Lists with a number for each layer's type: 0 and 1 in attn_type_list and hybrid_layer_pattern,
// ratios in compress_ratios.
struct NumberedTypes {
  std::string_view key;
  std::array<std::pair<std::int64_t, std::string_view>, 3> types;
};
constexpr std::array<NumberedTypes, 3> numbered = {
    NumberedTypes{"attn_type_list", {{{0, linear}, {1, full}, {1, full}}}},
    NumberedTypes{"hybrid_layer_pattern", {{{0, full}, {1, sliding}, {1, sliding}}}},
    NumberedTypes{"compress_ratios",
                  {{{0, sliding},
                    {4, "compressed_sparse_attention"},
                    {128, "heavily_compressed_attention"}}}}};

LayerTypes from_numbers(Reader& config, const NumberedTypes& meaning) {
  LayerTypes types;
  for (const double value : config.numbers(meaning.key).value_or(std::vector<double>())) {
    const auto* const found = std::ranges::find_if(
        meaning.types, [&](const auto& each) { return static_cast<double>(each.first) == value; });
    if (found == meaning.types.end()) {
      config.not_supported(meaning.key, " must hold numbers of known layer types, got ", value);
      break;
    }
    types.emplace_back(found->second);
  }
  return types;
}

// Lists with the numbers of the layers of one type, from `first` on; all others have other_type.
struct IndexedType {
  std::string_view key;
  std::string_view type;
  std::string_view other_type;
  std::int64_t first = 0;
};
constexpr std::array<IndexedType, 3> indexed = {
    IndexedType{"attn_layer_indices", full, linear}, IndexedType{"full_attn_idxs", full, linear},
    IndexedType{"cross_attention_layers", cross_attention, full}};

// kimi_linear: the numbers of layers with attention, in the object linear_attn_config.
constexpr IndexedType of_kimi_linear{"full_attn_layers", full, linear, 1};

LayerTypes from_indices(Reader& config, const IndexedType& meaning, std::int64_t layers) {
  LayerTypes types(static_cast<std::size_t>(layers), std::string(meaning.other_type));
  for (const double number : config.required_numbers(meaning.key)) {
    const double index = number - static_cast<double>(meaning.first);
    if (!(index >= 0) || index >= static_cast<double>(layers) || index != std::floor(index)) {
      config.malformed(meaning.key, " must hold ", meaning.first == 0 ? "indices" : "numbers",
                       " of layers, ", meaning.first, " to ", layers - 1 + meaning.first, "; got ",
                       number);
      break;
    }
    types[static_cast<std::size_t>(index)] = meaning.type;
  }
  return types;
}

// jamba: every attn_layer_period-th layer from attn_layer_offset has attention.
LayerTypes from_period(Reader& config, std::int64_t layers) {
  const std::int64_t every = config.integer("attn_layer_period").value_or(1);
  const std::int64_t offset = config.integer("attn_layer_offset").value_or(0);
  if (every < 1) config.malformed("attn_layer_period must be >= 1, got ", every);
  LayerTypes types;
  for (std::int64_t i = 0; i < layers && every >= 1; ++i)
    types.emplace_back(i % every == offset ? full : linear);
  return types;
}

// nemotron_h: a letter for each layer; * has attention.
LayerTypes from_letters(Reader& config) {
  const std::string letters = config.text("hybrid_override_pattern").value_or("");
  if (letters.find_first_not_of("*M-E") != std::string::npos) {
    config.not_supported("hybrid_override_pattern must consist of M, *, - and E, got ",
                         describe(letters));
  }
  LayerTypes types;
  for (const char letter : letters) types.emplace_back(letter == '*' ? full : linear);
  return types;
}

// recurrent_gemma: a list that is repeated over the layers.
LayerTypes from_repeated(Reader& config, std::string_view key, std::int64_t layers) {
  const LayerTypes cycle = from_list(config, key, *config.find(key));
  LayerTypes types;
  for (std::int64_t i = 0; i < layers && !cycle.empty(); ++i)
    types.push_back(cycle[static_cast<std::size_t>(i) % cycle.size()]);
  return types;
}

// ultrabert: a window for each layer; 0 or null is a full layer.
LayerTypes from_windows(Reader& config, std::string_view key) {
  const Json& list = *config.find(key);
  LayerTypes types;
  if (!list.is_array()) {
    config.malformed(key, " must be an array, got ", describe(list));
    return types;
  }
  for (const Json& each : list.array()) {
    const bool is_window = each.is_number() && each.number() > 0;
    if (!is_window && !each.is_null() && each != Json(0.0)) {
      config.malformed(key, " must hold windows >= 0 and null, got ", describe(each));
      break;
    }
    types.emplace_back(is_window ? sliding : full);
  }
  return types;
}

// nemotron-nas: an entry for each layer; "no_op", or a linear map, means no attention.
LayerTypes from_block_configs(Reader& config) {
  const Json& list = *config.find("block_configs");
  LayerTypes types;
  if (!list.is_array() || list.array().empty()) {
    config.malformed("block_configs must be an array with an object for each layer, got ",
                     describe(list));
    return types;
  }
  for (const Json& each : list.array()) {
    const Json* const attention = each.is_object() ? each.find("attention") : nullptr;
    if (attention == nullptr || !attention->is_object()) {
      config.malformed("block_configs must hold objects with an object attention, got ",
                       describe(each));
      break;
    }
    const auto is_set = [&](std::string_view key) {
      const Json* const value = attention->find(key);
      return value != nullptr && *value == Json(true);
    };
    types.emplace_back(is_set("no_op") || is_set("replace_with_linear") ? linear : full);
  }
  return types;
}

bool is_full(FullLayer rule, std::int64_t layer, std::int64_t interval) {
  const bool is_last = (layer + 1) % interval == 0;
  switch (rule) {
    case FullLayer::last:
      return is_last;
    case FullLayer::first:
      return layer % interval == 0;
    case FullLayer::last_and_zero:
      return is_last || layer == 0;
  }
  return is_last;
}

// An interval as a number or, in EXAONE's configs, as types of layers: "LLLG".
std::int64_t read_interval(Reader& config, const LayerPattern& pattern) {
  const std::string_view key = pattern.interval_key;
  const Json* const value = config.find(key);
  if (value != nullptr && value->is_string()) {
    const std::string& letters = value->string();
    const bool is_local_then_global = letters.size() > 1 &&
                                      letters.find_first_not_of('L') == letters.size() - 1 &&
                                      letters.back() == 'G';
    if (is_local_then_global) return static_cast<std::int64_t>(letters.size());
    config.not_supported(key, " must be a number or L's and one G, as in LLLG; got ",
                         describe(*value));
    return pattern.interval;
  }
  const std::int64_t every = config.integer(key).value_or(pattern.interval);
  if (every >= 1) return every;
  config.malformed(key, " must be >= 1, got ", every);
  return pattern.interval;
}

LayerTypes from_pattern(Reader& config, const LayerPattern& pattern, std::int64_t layers) {
  LayerTypes types;
  if (pattern.type_of != nullptr) {
    for (std::int64_t i = 0; i < layers; ++i) types.emplace_back(pattern.type_of(i, layers));
    return types;
  }
  if (pattern.interval == all_alike) return types;
  if (pattern.interval == must_be_listed) {
    config.malformed(
        "layer_types (or layers_block_type) must be given, because layers of this model_type "
        "differ; got none");
    return types;
  }
  const std::int64_t interval = read_interval(config, pattern);
  for (std::int64_t i = 0; i < layers; ++i) {
    types.emplace_back(is_full(pattern.full, i, interval) ? pattern.full_type : pattern.other_type);
  }
  return types;
}

LayerTypes find_types(Reader& config, const Family& family, std::optional<std::int64_t> layers,
                      Sources& sources) {
  const auto is_stated = [&](std::string_view key) {
    if (config.find(key) == nullptr) return false;
    note(sources, "layer_types", Origin::stated, key);
    return true;
  };
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    if (is_stated(key)) return from_list(config, key, *config.find(key));
  }
  for (const NumberedTypes& each : numbered) {
    if (is_stated(each.key)) return from_numbers(config, each);
  }
  if (is_stated("hybrid_override_pattern")) return from_letters(config);
  if (is_stated("block_configs")) return from_block_configs(config);
  if (!layers) return {};
  for (const IndexedType& each : indexed) {
    if (is_stated(each.key)) return from_indices(config, each, *layers);
  }
  if (is_stated("attn_layer_period")) return from_period(config, *layers);
  if (is_stated("block_types")) return from_repeated(config, "block_types", *layers);
  if (is_stated("attention_windows")) return from_windows(config, "attention_windows");
  if (is_stated("linear_attn_config")) {
    auto object = config.object("linear_attn_config");
    return object ? from_indices(*object, of_kimi_linear, *layers) : LayerTypes();
  }
  const LayerPattern& pattern = family.layers.pattern;
  const bool has_pattern = pattern.interval != all_alike || pattern.type_of != nullptr;
  if (has_pattern && !is_stated(pattern.interval_key)) {
    note(sources, "layer_types", Origin::class_default, "layer_types");
  }
  return from_pattern(config, pattern, *layers);
}

}  // namespace

std::vector<std::string> read_layer_types(Reader& config, const Family& family,
                                          std::optional<std::int64_t> layers, Sources& sources) {
  LayerTypes types = find_types(config, family, layers, sources);
  if (config.failed()) return types;
  if (const std::string_view alias = family.layers.pattern.alias_of_full; !alias.empty()) {
    std::replace(types.begin(), types.end(), std::string(full), std::string(alias));
  }
  // The list may also have layers that predict several tokens at once.
  const bool may_be_longer = family.rope.labels != RopeLabels::layer_types;
  const auto count = static_cast<std::int64_t>(types.size());
  if (layers && may_be_longer && count > *layers) {
    types.resize(static_cast<std::size_t>(*layers));
  } else if (layers && count != 0 && count != *layers) {
    config.malformed("layer_types must have one entry for each layer, ", *layers, "; got ", count);
  }
  return types;
}

bool has_attention(std::string_view layer_type) { return !has_word(without_attention, layer_type); }

}  // namespace rotary
