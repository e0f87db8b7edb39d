// SPDX-License-Identifier: Apache-2.0
#include "model/model_config.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/message.hpp"

namespace rotary {
namespace {

constexpr std::int64_t max_layers = 100'000;
constexpr std::size_t max_layer_types = 16;  // models have two or three

const Json& empty_dictionary() {
  static const Json empty = Json::object();
  return empty;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

}  // namespace

bool speaks_of_rope(std::string_view original) {
  const std::string lower = to_lower(original);
  std::string_view key = lower;
  constexpr std::array<std::string_view, 4> beginnings = {"rope", "rotary", "mrope", "xdrope"};
  while (true) {
    for (const std::string_view each : beginnings) {
      if (key.substr(0, each.size()) == each) return true;
    }
    const auto underscore = key.find('_');
    if (underscore == std::string_view::npos) return false;
    key.remove_prefix(underscore + 1);
  }
}

namespace {

bool reads(const Family& family, std::string_view key) {
  if (key == "rotary_dim") return family.partial == PartialRotary::dimension || !family.base;
  if (!family.reads_rope_parameters) return false;
  return key == "rope_scaling" || key == "rope_parameters" || key == family.base_key ||
         key == family.fraction_key || key == family.other_base_key ||
         key == family.other_fraction_key;
}

// Switches with the value that says what is so anyway.
struct Switch {
  std::string_view key;
  bool harmless;
};
constexpr std::array<Switch, 3> switches = {Switch{"rotary", true}, Switch{"use_rope", true},
                                            Switch{"use_mrope", false}};

bool is_harmless(std::string_view key, const Json& value) {
  return std::any_of(switches.begin(), switches.end(), [&](const Switch& each) {
    return each.key == key && value.is_boolean() && value.get<bool>() == each.harmless;
  });
}

// Keys about rotary embedding that this family does not read: known ones are warned about, others
// refused.
Status check_rope_keys(const ConfigObject& config, ModelConfig& result) {
  constexpr std::array<std::string_view, 7> known = {
      "rope_theta", "rope_scaling",    "rope_parameters", "partial_rotary_factor",
      "rotary_pct", "rotary_emb_base", "rotary_dim"};
  for (const auto& [key, value] : config.object->items()) {
    if (!speaks_of_rope(key) || value.is_null() || reads(result.family, key)) continue;
    if (is_harmless(key, value)) continue;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return unsupported(shorten(key),
                         " is not understood, and ignoring it could turn keys wrongly; got ",
                         describe(value));
    }
    result.warnings.push_back(
        message(key, " is ignored: the family ", result.family.model_type, " does not read it"));
  }
  return {};
}

Status read_head_dim(const ConfigObject& config, ModelConfig& result) {
  const auto& keys = result.family.keys;
  const auto head_dim = read_integer(config, "head_dim");
  if (!head_dim) return head_dim.error();
  if (*head_dim && result.family.reads_head_dim) {
    result.head_dim = **head_dim;
    return {};
  }
  if (*head_dim) {
    result.warnings.push_back(message("head_dim is ignored: the family ", result.family.model_type,
                                      " divides ", keys.hidden_size, " by ", keys.heads));
  }
  const auto hidden_size = read_integer(config, keys.hidden_size);
  if (!hidden_size) return hidden_size.error();
  const auto heads = read_integer(config, keys.heads);
  if (!heads) return heads.error();
  if (!*hidden_size || !*heads) {
    const bool nested = find(config, "text_config") != nullptr;
    return malformed_input("head_dim, or ", keys.hidden_size, " and ", keys.heads,
                           ", must be given, got neither",
                           nested ? "; this config keeps its language model in text_config: pass "
                                    "that object alone"
                                  : "");
  }
  if (**heads < 1 || **hidden_size < 1 || **hidden_size % **heads != 0) {
    return malformed_input(keys.hidden_size, " must be a positive multiple of ", keys.heads,
                           ", got ", **hidden_size, " and ", **heads);
  }
  result.head_dim = **hidden_size / **heads;
  return {};
}

// The first of two keys that is present.
template <class T>
Status read_either(const ConfigObject& config, std::array<std::string_view, 2> keys,
                   Result<std::optional<T>> (*reader)(const ConfigObject&, std::string_view),
                   ModelConfig& result, std::optional<T>& into) {
  for (const std::string_view key : keys) {
    if (key.empty()) continue;
    const auto value = reader(config, key);
    if (!value) return value.error();
    if (into && *value && **value != *into) {
      result.warnings.push_back(message(keys[0], " and ", keys[1], " differ, ", *into, " and ",
                                        **value, "; the former is used"));
    }
    if (!into) into = *value;
  }
  return {};
}

Status read_numbers(const ConfigObject& config, ModelConfig& result) {
  const Family& family = result.family;
  const auto layers = read_integer(config, family.keys.layers);
  if (!layers) return layers.error();
  if (*layers && (**layers < 1 || **layers > max_layers)) {
    return malformed_input(family.keys.layers, " must be in 1..", max_layers, ", got ", **layers);
  }
  result.layers = *layers;
  const auto positions = read_integer(config, family.keys.positions);
  if (!positions) return positions.error();
  if (*positions && **positions < 1) {
    return malformed_input(family.keys.positions, " must be >= 1, got ", **positions);
  }
  result.max_position_embeddings = *positions;
  if (reads(family, "rotary_dim")) {
    if (config.object->contains("rotary_dim") && find(config, "rotary_dim") == nullptr) {
      return malformed_input("rotary_dim must be an integer, got null");
    }
    const auto rotary_dim = read_integer(config, "rotary_dim");
    if (!rotary_dim) return rotary_dim.error();
    result.rotary_dim = *rotary_dim;
  }
  if (!family.reads_rope_parameters) return {};
  if (auto status = read_either<double>(config, {family.base_key, family.other_base_key},
                                        read_number, result, result.rope_theta);
      !status) {
    return status;
  }
  return read_either<double>(config, {family.fraction_key, family.other_fraction_key}, read_number,
                             result, result.partial_rotary_factor);
}

Status read_layer_types(const ConfigObject& config, ModelConfig& result) {
  const Json* const types = find(config, "layer_types");
  if (types == nullptr) return {};
  const bool is_text =
      types->is_array() &&
      std::all_of(types->begin(), types->end(), [](const Json& each) { return each.is_string(); });
  if (!is_text)
    return malformed_input("layer_types must be an array of strings, got ", describe(*types));
  result.layer_types = types->get<std::vector<std::string>>();
  if (result.layers && static_cast<std::int64_t>(types->size()) != *result.layers) {
    return malformed_input("layer_types must have one entry for each layer, ", *result.layers,
                           "; got ", types->size());
  }
  return {};
}

// The dictionary in force: rope_scaling, the older name, replaces rope_parameters unless it is
// empty.
Result<ConfigObject> find_dictionary(const ConfigObject& config, ModelConfig& result) {
  ConfigObject found{.object = &empty_dictionary(), .path = ""};
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Json* const value = find(config, key);
    if (value == nullptr) continue;
    if (!value->is_object())
      return malformed_input(key, " must be an object, got ", describe(*value));
    if (value->empty()) continue;
    if (!found.object->empty() && *found.object != *value) {
      result.warnings.push_back(
          "rope_scaling and rope_parameters differ; rope_scaling is used, as Transformers does");
    }
    found = ConfigObject{.object = value, .path = message(key, ".")};
  }
  return found;
}

// A dictionary of dictionaries holds one for each layer type.
Status read_ropes(const ConfigObject& config, ModelConfig& result) {
  ConfigObject dictionary{.object = &empty_dictionary(), .path = ""};
  if (result.family.reads_rope_parameters) {
    auto found = find_dictionary(config, result);
    if (!found) return std::move(found).error();
    dictionary = *std::move(found);
  }
  RopeContext context{.max_position_embeddings = result.max_position_embeddings,
                      .dialect = result.family.rope_dialect};
  const auto& entries = *dictionary.object;
  const bool nested =
      !entries.empty() && std::all_of(entries.begin(), entries.end(),
                                      [](const Json& each) { return each.is_object(); });
  if (!nested) {
    const auto original = read_integer(config, "original_max_position_embeddings");
    if (!original) return original.error();
    context.original_max_position_embeddings = *original;
    context.partial_rotary_factor = result.partial_rotary_factor;
    result.ropes.push_back(
        LayerTypeRope{.layer_type = {}, .dictionary = dictionary, .context = context});
    return {};
  }
  if (entries.size() > max_layer_types) {
    return malformed_input(dictionary.path.substr(0, dictionary.path.size() - 1),
                           " must have at most ", max_layer_types, " layer types, got ",
                           entries.size());
  }
  const auto& types = result.layer_types;
  for (const auto& [key, value] : entries.items()) {
    if (std::find(types.begin(), types.end(), key) == types.end()) {
      return malformed_input(dictionary.path, shorten(key),
                             " must be one of layer_types, got a name that is not in it");
    }
    result.ropes.push_back(
        {.layer_type = key,
         .dictionary = {.object = &value, .path = message(dictionary.path, shorten(key), ".")},
         .context = context});
  }
  for (const std::string& type : types) {
    if (!entries.contains(type)) {
      return malformed_input(dictionary.path, shorten(type),
                             " must be given, because layer_types names it; got none");
    }
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_model_config(const ConfigObject& config, const Family& family) {
  ModelConfig result;
  result.family = family;
  for (const auto step :
       {check_rope_keys, read_head_dim, read_numbers, read_layer_types, read_ropes}) {
    if (auto status = step(config, result); !status) return std::move(status).error();
  }
  return result;
}

}  // namespace rotary
