// SPDX-License-Identifier: Apache-2.0
#include "model/rope/rope_layout.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "model/json/config_json.hpp"
#include "model/layers/layer_types.hpp"
#include "model/rope/rope_axes.hpp"
#include "model/rope/rope_lists.hpp"

namespace rotary {
namespace {

constexpr std::size_t max_layer_types = 16;  // models have two or three
constexpr std::string_view full = "full_attention";
constexpr std::string_view sliding = "sliding_attention";

struct Dictionary {
  Json json = Json(Json::Object());
  std::string path;  // "" if the config has none
  Origin origin = Origin::stated;
};

// For classes that name the layer types themselves, so that a model may lack layers of a type.
bool may_be_unused(const Family& family, std::string_view label) {
  constexpr std::array<std::string_view, 5> labels = {full, sliding, "indexed_attention", "hybrid",
                                                      "hybrid_sliding"};
  const bool names_them = family.rope.two_bases || !family.rope.otherwise.empty();
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
Dictionary find_dictionary(Reader& config, const Family& family) {
  Dictionary found;
  if (!family.rope.is_read) return found;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const auto object = config.object(key);
    if (!object || object->members().empty()) continue;
    if (found.json.size() > 0 && found.json != object->json()) {
      config.warn("rope_scaling and ", config.path(),
                  "rope_parameters differ; rope_scaling is used, as Transformers does");
    }
    found = {.json = object->json(), .path = object->path()};
  }
  drop_null_types(found.json);
  const Json* const bases = config.find("rope_theta");
  const bool has_list = bases != nullptr && bases->is_array();
  if (found.json.size() > 0 || has_list || family.rope.otherwise.empty()) return found;
  auto parameters = parse_json(family.rope.otherwise, "RopeForm::otherwise");
  if (!parameters) {
    config.findings().fail(std::move(parameters).error());
    return found;
  }
  drop_null_types(*parameters);
  config.warn("rope_parameters is absent; that of the family's class is used: ",
              shorten(parameters->text(), 200));
  return {.json = *std::move(parameters),
          .path = message(config.path(), "rope_parameters."),
          .origin = Origin::class_default};
}

LayerTypeRope labelled(std::string label, Json dictionary, const std::string& path) {
  std::string own_path = message(path, shorten(label), ".");
  return {.layer_type = std::move(label),
          .dictionary = std::move(dictionary),
          .path = std::move(own_path)};
}

// One dictionary for each label. Every label must be the type of some layer, and each type with
// attention must have a dictionary.
RopeLayout nested(const Dictionary& dictionary, const Family& family,
                  const std::vector<std::string>& labels, Findings& findings) {
  RopeLayout layout{.ropes = {}, .of_layer = {}, .is_nested = true};
  if (dictionary.json.size() > max_layer_types) {
    findings.fail(malformed_input(dictionary.path.substr(0, dictionary.path.size() - 1),
                                  " must have at most ", max_layer_types, " layer types, got ",
                                  dictionary.json.size()));
    return layout;
  }
  for (const auto& [key, value] : dictionary.json.object()) {
    const bool is_used = std::find(labels.begin(), labels.end(), key) != labels.end();
    if (!is_used && !may_be_unused(family, key)) {
      findings.fail(malformed_input(dictionary.path, shorten(key),
                                    " must be one of layer_types, got a name that is not in it"));
      return layout;
    }
    layout.ropes.push_back(labelled(key, value, dictionary.path));
    layout.ropes.back().origin = dictionary.origin;
  }
  for (const std::string& label : labels) {
    const auto found = std::find_if(layout.ropes.begin(), layout.ropes.end(),
                                    [&](const auto& each) { return each.layer_type == label; });
    const bool is_there = found != layout.ropes.end();
    const bool may_lack = family.layers.rotating == RotaryLayers::with_parameters;
    if (!is_there && has_attention(label) && !may_lack) {
      findings.fail(malformed_input(dictionary.path, shorten(label),
                                    " must be given, because layer_types names it; got none"));
      return layout;
    }
    layout.of_layer.push_back(is_there && has_attention(label)
                                  ? static_cast<std::size_t>(found - layout.ropes.begin())
                                  : 0);
  }
  return layout;
}

// Sets the dictionary's base, if it has none, to the one beside the dictionaries.
void fill_base(Reader& config, std::string_view key, double otherwise, LayerTypeRope& rope) {
  const auto base = config.number(key);
  const bool is_new =
      rope.dictionary.object().try_emplace("rope_theta", base.value_or(otherwise)).second;
  const Json& own = rope.dictionary.object().at("rope_theta");
  if (!is_new && base && own != Json(*base)) {
    config.warn(key, " ", *base, " is ignored: ", rope.path, "rope_theta is ", describe(own));
  }
  if (!is_new) return;
  rope.base_key = key;
  if (!base) rope.assumed.emplace_back("rope_theta");
}

// Full and sliding layers with different bases: convert_rope_params_to_dict of Gemma 3 and similar.
RopeLayout with_two_bases(Reader& config, const Family& family, Dictionary dictionary,
                          const std::vector<std::string>& types) {
  const TwoBases& bases = *family.rope.two_bases;
  const Json unscaled = Json(Json::Object());
  Json full_rope = dictionary.json;
  Json sliding_rope = bases.scaled == ScaledLayers::all ? full_rope : unscaled;
  if (is_nested(dictionary.json)) {
    const Json* const of_full = dictionary.json.find(bases.full_type);
    const Json* const of_sliding = dictionary.json.find(sliding);
    full_rope = of_full == nullptr ? unscaled : *of_full;
    sliding_rope = of_sliding == nullptr ? unscaled : *of_sliding;
  } else if (bases.full_key == bases.sliding_key && config.find(bases.full_key) != nullptr &&
             *config.find(bases.full_key) != Json(bases.sliding)) {
    config.findings().dispute(transformers_5, "sliding layers turn with the same ",
                              bases.sliding_key, " as full ones; Transformers 5 gives them ",
                              bases.sliding, " when it reads a config of this form");
  }
  if (!is_nested(dictionary.json)) dictionary.json = Json(Json::Object());
  dictionary.json.object().insert_or_assign(std::string(bases.full_type), std::move(full_rope));
  dictionary.json.object().insert_or_assign(std::string(sliding), std::move(sliding_rope));
  if (dictionary.path.empty()) dictionary.path = message(config.path(), "rope_parameters.");
  RopeLayout layout = nested(dictionary, family, types, config.findings());
  for (LayerTypeRope& rope : layout.ropes) {
    if (rope.layer_type == bases.full_type) fill_base(config, bases.full_key, bases.full, rope);
    if (rope.layer_type == sliding) fill_base(config, bases.sliding_key, bases.sliding, rope);
  }
  return layout;
}

// Moves the growth of queries out of the dictionary.
void take_beta(LayerTypeRope& rope, Findings& findings) {
  Reader reader(rope.dictionary, rope.path, findings);
  rope.llama_4_scaling_beta = reader.number("llama_4_scaling_beta").value_or(0);
  if (!(rope.llama_4_scaling_beta >= 0)) {
    reader.malformed("llama_4_scaling_beta must be >= 0, got ", rope.llama_4_scaling_beta);
  }
  rope.dictionary.object().erase("llama_4_scaling_beta");
  rope.dictionary.object().erase("max_position_embeddings");  // repeats the config's value
}

// Transformers 5 reads truncate only at the top of rope_parameters, not in nested dictionaries.
void warn_about_nested_truncate(const RopeLayout& layout, Findings& findings) {
  if (!layout.is_nested) return;
  for (const LayerTypeRope& rope : layout.ropes) {
    const Json* const found = rope.dictionary.find("truncate");
    if (found == nullptr || *found != Json(false)) continue;
    findings.dispute(
        transformers_5, rope.path,
        "truncate is false and so used; Transformers 5 ignores it in parameters for one "
        "layer type");
  }
}

// Layers out of the list have the base of the dictionary and no scaling.
void split_scaled_layers(Reader& config, std::string_view key, RopeLayout& layout) {
  const auto list = config.numbers(key);
  const std::size_t layers = layout.of_layer.size();
  if (!list || layers == 0) return;
  std::vector<std::size_t> of_layer(layers, 1);
  for (const double index : *list) {
    if (!(index >= 0) || index >= static_cast<double>(layers)) {
      config.malformed(key, " must hold indices of layers, 0 to ", layers - 1, "; got ", index);
      return;
    }
    of_layer[static_cast<std::size_t>(index)] = 0;
  }
  const bool are_alike = std::find(of_layer.begin(), of_layer.end(), 1) == of_layer.end();
  const LayerTypeRope& scaled = layout.ropes.front();
  const Json* type = scaled.dictionary.find("rope_type");
  if (type == nullptr) type = scaled.dictionary.find("type");
  if (are_alike || type == nullptr || *type == "default") return;
  LayerTypeRope unscaled = scaled;
  unscaled.dictionary = Json(Json::Object());
  if (const Json* const base = scaled.dictionary.find("rope_theta")) {
    unscaled.dictionary.object().try_emplace("rope_theta", *base);
  }
  unscaled.layer_type = "unscaled";
  layout.ropes.front().layer_type = "scaled";
  layout.ropes.push_back(std::move(unscaled));
  layout.of_layer = std::move(of_layer);
}

RopeLayout lay_out(Reader& config, const Family& family, const std::vector<std::string>& types) {
  Dictionary dictionary = find_dictionary(config, family);
  const std::string expanded_path = message(config.path(), "rope_parameters.");
  if (family.rope.labels == RopeLabels::per_layer_lists) {
    Json lists = expand_lists(config, dictionary.json, types);
    if (lists.size() > 0) dictionary = {.json = std::move(lists), .path = expanded_path};
  }
  if (family.rope.labels == RopeLabels::main_and_compress) {
    Labelled labels = main_and_compress(config, dictionary.json, types);
    dictionary = {.json = std::move(labels.dictionaries), .path = expanded_path};
    RopeLayout layout = nested(dictionary, family, labels.of_layer, config.findings());
    for (LayerTypeRope& rope : layout.ropes) {
      if (labels.are_stated) break;
      if (rope.layer_type == "compress") rope.base_key = "compress_rope_theta";
      if (config.find(rope.base_key) == nullptr) rope.assumed.emplace_back("rope_theta");
      if (labels.assumes_factor) rope.assumed.emplace_back("attention_factor");
    }
    return layout;
  }
  const std::string& path = dictionary.path.empty() ? config.path() : dictionary.path;
  if (family.layers.rotating == RotaryLayers::layer_rope_theta) {
    return layer_bases(config, dictionary.json, path);
  }
  if (family.rope.two_bases) return with_two_bases(config, family, std::move(dictionary), types);
  if (is_nested(dictionary.json)) return nested(dictionary, family, types, config.findings());
  const bool wants_nested = family.rope.otherwise.find('{', 1) != std::string_view::npos;
  if (wants_nested && dictionary.json.size() > 0) {
    config.findings().warn(dictionary.path,
                           " holds for all layers, although the class has parameters of its own "
                           "for each layer type");
  }
  RopeLayout layout;
  layout.ropes.push_back({.layer_type = {},
                          .dictionary = std::move(dictionary.json),
                          .path = path,
                          .origin = dictionary.origin});
  layout.of_layer.assign(types.size(), 0);
  split_scaled_layers(config, family.rope.scaled_layers_key, layout);
  return layout;
}

}  // namespace

RopeLayout read_rope_layout(Reader& config, const Family& family,
                            const std::vector<std::string>& layer_types) {
  RopeLayout layout = lay_out(config, family, layer_types);
  if (config.failed()) return layout;
  for (LayerTypeRope& rope : layout.ropes) {
    take_axes(rope, family, config.findings());
    if (family.layers.temperature == TemperatureKeys::llama_4_scaling_beta) {
      take_beta(rope, config.findings());
    }
  }
  warn_about_nested_truncate(layout, config.findings());
  return layout;
}

}  // namespace rotary
