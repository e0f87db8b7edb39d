// SPDX-License-Identifier: Apache-2.0
#include "model/rope/rope_layout.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "model/layer_types.hpp"
#include "model/rope/rope_lists.hpp"

namespace rotary {
namespace {

constexpr std::size_t max_layer_types = 16;  // models have two or three
constexpr std::string_view full = "full_attention";
constexpr std::string_view sliding = "sliding_attention";

struct Dictionary {
  Json json = Json(Json::Object());
  std::string path;  // "" if the config has none
};

// For classes that name the layer types themselves, so that a model may lack layers of a type.
bool may_be_unused(const Family& family, std::string_view label) {
  constexpr std::array<std::string_view, 4> labels = {full, sliding, "hybrid", "hybrid_sliding"};
  const bool names_them = family.two_bases || !family.default_rope.empty();
  return names_them && std::find(labels.begin(), labels.end(), label) != labels.end();
}

bool is_nested(const Json& dictionary) {
  const Json::Object& members = dictionary.object();
  return !members.empty() && std::all_of(members.begin(), members.end(), [](const auto& member) {
    return member.second.is_object();
  });
}

// null for a layer type means that it has no dictionary.
void drop_null_types(Json& dictionary) {
  const Json::Object& members = dictionary.object();
  for (const auto& [key, value] : members) {
    if (!value.is_null() && !value.is_object()) return;
  }
  std::erase_if(dictionary.object(), [](const auto& member) { return member.second.is_null(); });
}

// The dictionary in force: rope_scaling, the older name, replaces rope_parameters unless it is
// empty. Without either, the default of the family's class.
Result<Dictionary> find_dictionary(const ConfigObject& config, const Family& family,
                                   std::vector<std::string>& warnings) {
  Dictionary found;
  if (!family.reads_rope_parameters) return found;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const Json* const value = find(config, key);
    if (value == nullptr) continue;
    if (!value->is_object()) {
      return malformed_input(config.path, key, " must be an object, got ", describe(*value));
    }
    if (value->size() == 0) continue;
    if (found.json.size() > 0 && found.json != *value) {
      warnings.push_back(message(config.path, "rope_scaling and ", config.path,
                                 "rope_parameters differ; rope_scaling is used, as Transformers "
                                 "does"));
    }
    found = {.json = *value, .path = message(config.path, key, ".")};
  }
  drop_null_types(found.json);
  if (found.json.size() == 0 && !family.default_rope.empty()) {
    auto parameters = parse_json(family.default_rope, "default_rope");
    if (!parameters) return std::move(parameters).error();
    found = {.json = *std::move(parameters), .path = message(config.path, "rope_parameters.")};
    warnings.push_back(message(config.path,
                               "rope_parameters is absent; that of the family's class is used: ",
                               shorten(found.json.text(), 200)));
  }
  return found;
}

LayerTypeRope labelled(std::string label, Json dictionary, const std::string& path) {
  std::string own_path = message(path, shorten(label), ".");
  return {.layer_type = std::move(label),
          .dictionary = std::move(dictionary),
          .path = std::move(own_path),
          .sections = {}};
}

// One dictionary for each label. Every label must be the type of some layer, and each type with
// attention must have a dictionary.
Result<RopeLayout> nested(const Dictionary& dictionary, const Family& family,
                          const std::vector<std::string>& labels) {
  const std::string name = dictionary.path.substr(0, dictionary.path.size() - 1);
  if (dictionary.json.size() > max_layer_types) {
    return malformed_input(name, " must have at most ", max_layer_types, " layer types, got ",
                           dictionary.json.size());
  }
  RopeLayout layout{.ropes = {}, .of_layer = {}, .is_nested = true};
  for (const auto& [key, value] : dictionary.json.object()) {
    const bool is_used = std::find(labels.begin(), labels.end(), key) != labels.end();
    if (!is_used && !may_be_unused(family, key)) {
      return malformed_input(dictionary.path, shorten(key),
                             " must be one of layer_types, got a name that is not in it");
    }
    layout.ropes.push_back(labelled(key, value, dictionary.path));
  }
  for (const std::string& label : labels) {
    if (!has_attention(label)) {
      layout.of_layer.push_back(0);
      continue;
    }
    const auto found = std::find_if(layout.ropes.begin(), layout.ropes.end(),
                                    [&](const auto& each) { return each.layer_type == label; });
    if (found == layout.ropes.end()) {
      return malformed_input(dictionary.path, shorten(label),
                             " must be given, because layer_types names it; got none");
    }
    layout.of_layer.push_back(static_cast<std::size_t>(found - layout.ropes.begin()));
  }
  return layout;
}

// Sets the dictionary's base, if it has none, to the one beside the dictionaries.
Status fill_base(const ConfigObject& config, std::string_view key, double otherwise,
                 Json& dictionary) {
  const auto given = read_number(config, key);
  if (!given) return given.error();
  dictionary.object().try_emplace("rope_theta", given->value_or(otherwise));
  return {};
}

// Full and sliding layers with different bases: convert_rope_params_to_dict of Gemma 3 and similar.
Result<RopeLayout> with_two_bases(const ConfigObject& config, const Family& family,
                                  Dictionary dictionary, const std::vector<std::string>& types,
                                  std::vector<std::string>& warnings) {
  const TwoBases& bases = *family.two_bases;
  const Json unscaled(Json::Object{{"rope_type", Json("default")}});
  Json full_rope = dictionary.json.size() == 0 ? unscaled : dictionary.json;
  Json sliding_rope = bases.scaled == ScaledLayers::all ? full_rope : unscaled;
  if (is_nested(dictionary.json)) {
    const Json* const of_full = dictionary.json.find(full);
    const Json* const of_sliding = dictionary.json.find(sliding);
    full_rope = of_full == nullptr ? unscaled : *of_full;
    sliding_rope = of_sliding == nullptr ? unscaled : *of_sliding;
  } else if (bases.full_key == bases.sliding_key && find(config, bases.full_key) != nullptr &&
             *find(config, bases.full_key) != Json(bases.sliding)) {
    warnings.push_back(message("sliding layers turn with the same ", bases.sliding_key,
                               " as full ones; Transformers 5 gives them ", bases.sliding,
                               " when it reads a config of this form"));
  }
  if (auto status = fill_base(config, bases.full_key, bases.full, full_rope); !status)
    return std::move(status).error();
  if (auto status = fill_base(config, bases.sliding_key, bases.sliding, sliding_rope); !status)
    return std::move(status).error();
  if (!is_nested(dictionary.json)) dictionary.json = Json(Json::Object());
  dictionary.json.object().insert_or_assign(std::string(full), std::move(full_rope));
  dictionary.json.object().insert_or_assign(std::string(sliding), std::move(sliding_rope));
  if (dictionary.path.empty()) dictionary.path = message(config.path, "rope_parameters.");
  return nested(dictionary, family, types);
}

// Moves values that belong to positions, not to the rule, out of the dictionary.
Status take_extras(const Family& family, LayerTypeRope& rope, std::vector<std::string>& warnings) {
  const ConfigObject object{.object = &rope.dictionary, .path = rope.path};
  Json::Object& members = rope.dictionary.object();
  if (family.sections == SectionKeys::accepted) {
    const auto sections = read_numbers(object, "mrope_section");
    if (!sections) return sections.error();
    for (const double each : sections->value_or(std::vector<double>())) {
      if (!(each >= 0) || each > 1e6 || each != static_cast<double>(static_cast<int>(each))) {
        return malformed_input(rope.path, "mrope_section must hold numbers of pairs, got ", each);
      }
      rope.sections.push_back(static_cast<std::int64_t>(each));
    }
    for (const std::string_view key : {"mrope_interleaved", "interleaved"}) {
      if (const auto value = read_boolean(object, key); !value) return value.error();
      members.erase(std::string(key));
    }
    members.erase("mrope_section");
    for (const std::string_view key : {"rope_type", "type"}) {
      const auto found = members.find(key);
      if (found != members.end() && found->second == "mrope") found->second = Json("default");
    }
    if (!rope.sections.empty()) {
      warnings.push_back(message(rope.path,
                                 "mrope_section: positions of text are supported, those of images "
                                 "and video are not yet"));
    }
  }
  if (family.temperature == TemperatureKeys::llama_4_scaling_beta) {
    const auto beta = read_number(object, "llama_4_scaling_beta");
    if (!beta) return beta.error();
    rope.llama_4_scaling_beta = beta->value_or(0);
    if (!(rope.llama_4_scaling_beta >= 0)) {
      return malformed_input(rope.path, "llama_4_scaling_beta must be >= 0, got ",
                             rope.llama_4_scaling_beta);
    }
    members.erase("llama_4_scaling_beta");
    members.erase("max_position_embeddings");  // repeats the config's value
  }
  return {};
}

// Transformers 5 reads truncate only at the top of rope_parameters, not in nested dictionaries.
void warn_about_nested_truncate(const RopeLayout& layout, std::vector<std::string>& warnings) {
  if (!layout.is_nested) return;
  for (const LayerTypeRope& rope : layout.ropes) {
    const Json* const found = rope.dictionary.find("truncate");
    if (found == nullptr || *found != Json(false)) continue;
    warnings.push_back(message(rope.path,
                               "truncate is false and so used; Transformers 5 ignores it in "
                               "parameters for one layer type"));
  }
}

Result<RopeLayout> lay_out(const ConfigObject& config, const Family& family,
                           const std::vector<std::string>& types,
                           std::vector<std::string>& warnings) {
  auto dictionary = find_dictionary(config, family, warnings);
  if (!dictionary) return std::move(dictionary).error();
  if (family.labels == RopeLabels::per_layer_lists) {
    auto lists = expand_lists(config, dictionary->json, types);
    if (!lists) return std::move(lists).error();
    if (lists->size() > 0)
      dictionary = Dictionary{*std::move(lists), message(config.path, "rope_parameters.")};
  }
  if (family.labels == RopeLabels::main_and_compress) {
    auto labels = main_and_compress(config, dictionary->json, types);
    if (!labels) return std::move(labels).error();
    return nested(
        {.json = std::move(labels->dictionaries), .path = message(config.path, "rope_parameters.")},
        family, labels->of_layer);
  }
  if (family.rotary_layers == RotaryLayers::layer_rope_theta) {
    return layer_bases(config, dictionary->json,
                       dictionary->path.empty() ? config.path : dictionary->path);
  }
  if (family.two_bases) {
    return with_two_bases(config, family, *std::move(dictionary), types, warnings);
  }
  if (is_nested(dictionary->json)) return nested(*dictionary, family, types);
  const bool wants_nested = family.default_rope.find('{', 1) != std::string_view::npos;
  if (wants_nested && dictionary->json.size() > 0) {
    warnings.push_back(message(dictionary->path,
                               " holds for all layers, although the class has parameters of its "
                               "own for each layer type"));
  }
  RopeLayout layout;
  layout.ropes.push_back({.layer_type = {},
                          .dictionary = std::move(dictionary->json),
                          .path = dictionary->path.empty() ? config.path : dictionary->path,
                          .sections = {}});
  layout.of_layer.assign(types.size(), 0);
  return layout;
}

}  // namespace

Result<RopeLayout> read_rope_layout(const ConfigObject& config, const Family& family,
                                    const std::vector<std::string>& layer_types,
                                    std::vector<std::string>& warnings) {
  auto layout = lay_out(config, family, layer_types, warnings);
  if (!layout) return layout;
  for (LayerTypeRope& rope : layout->ropes) {
    if (auto status = take_extras(family, rope, warnings); !status)
      return std::move(status).error();
  }
  warn_about_nested_truncate(*layout, warnings);
  return layout;
}

}  // namespace rotary
