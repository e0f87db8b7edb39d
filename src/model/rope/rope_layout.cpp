// SPDX-License-Identifier: Apache-2.0
#include "model/rope/rope_layout.hpp"

#include <utility>

#include "base/message.hpp"
#include "model/json/config_json.hpp"
#include "model/layers/layer_types.hpp"
#include "model/rope/rope_axes.hpp"
#include "model/rope/rope_lists.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr std::size_t max_layer_types = 16;  // models have two or three
constexpr std::string_view sliding = "sliding_attention";

struct Dictionary {
  Json json = Json(Json::Object());
  std::string path;  // "" if the config has none
  Origin origin = Origin::stated;
};

// Whether the class reads a dictionary for each layer type or other label.
bool reads_types(const Family& family) {
  const bool has_defaults = family.rope.otherwise.find('{', 1) != std::string_view::npos;
  return family.rope.two_bases || has_defaults || family.rope.labels != RopeLabels::layer_types ||
         family.layers.rotating == RotaryLayers::with_parameters;
}

// Whether a labelled dictionary may apply to no layer, because the class's code fixes the labels.
bool may_be_unused(const Family& family, std::string_view label) {
  constexpr std::string_view labels =
      "full_attention sliding_attention indexed_attention hybrid hybrid_sliding";
  return reads_types(family) && has_word(labels, label);
}

bool is_nested(const Json& dictionary) {
  const Json::Object& members = dictionary.object();
  return !members.empty() &&
         std::ranges::all_of(members, &Json::is_object, &Json::Object::value_type::second);
}

// Removes entries that are null: their layer types have no dictionary. If the class reads types,
// also removes entries other than dictionaries, which the class ignores.
void keep_types(Reader& config, const Family& family, Dictionary& found) {
  Json::Object& members = found.json.object();
  const auto value_of = &Json::Object::value_type::second;
  if (std::ranges::none_of(members, &Json::is_object, value_of) &&
      !std::ranges::all_of(members, &Json::is_null, value_of)) {
    return;
  }
  for (const auto& [key, value] : members) {
    if (value.is_null() || value.is_object() || !reads_types(family)) continue;
    config.findings().warn(found.path, shorten(key),
                           " is ignored: it is beside those of layer types");
  }
  const bool drops_all = reads_types(family);
  std::erase_if(members, [&](const auto& member) {
    return member.second.is_null() || (drops_all && !member.second.is_object());
  });
}

// Fills gaps in dictionaries of layer types with a base outside them, then with class defaults.
void fill_types(Reader& config, const Family& family, Dictionary& found) {
  const auto defaults = parse_json(family.rope.otherwise, "RopeForm::otherwise");
  if (!defaults) return;
  const auto base = config.number("rope_theta");
  for (const auto& [type, otherwise] : defaults->object()) {
    Json::Object& own =
        found.json.object().try_emplace(type, Json::Object()).first->second.object();
    if (base) own.try_emplace("rope_theta", *base);
    for (const auto& [key, value] : otherwise.object()) own.try_emplace(key, value);
  }
  if (found.path.empty()) found.path = message(config.path(), "rope_parameters.");
}

// The dictionary that applies: rope_scaling (the older name) if it is not empty, else
// rope_parameters, even if empty, else the default of the family's class.
Dictionary find_dictionary(Reader& config, const Family& family) {
  Dictionary found;
  if (!family.rope.is_read) return found;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const auto object = config.object(key);
    if (!object || object->members().empty()) continue;
    const Dictionaries read = family.rope.dictionaries;
    if (read == Dictionaries::none || (read != Dictionaries::both && key == "rope_scaling")) {
      config.warn(key, " is ignored: the family ", family.model_type, " does not read it");
      continue;
    }
    if (found.json.size() > 0 && found.json != object->json()) {
      config.warn("rope_scaling and ", config.path(),
                  "rope_parameters differ; rope_scaling is used, as Transformers does");
    }
    found = {.json = object->json(), .path = object->path()};
  }
  keep_types(config, family, found);
  if (family.rope.fills_types && (found.json.size() == 0 || is_nested(found.json))) {
    fill_types(config, family, found);
    return found;
  }
  const Json* const bases = config.find("rope_theta");
  const bool has_list = bases != nullptr && bases->is_array();
  const bool is_empty = config.find("rope_parameters") != nullptr;
  if (found.json.size() > 0 || has_list || is_empty || family.rope.otherwise.empty()) return found;
  auto parameters = parse_json(family.rope.otherwise, "RopeForm::otherwise");
  if (!parameters) {
    config.findings().fail(std::move(parameters).error());
    return found;
  }
  config.warn("rope_parameters is absent; that of the family's class is used: ",
              shorten(parameters->text(), 200));
  found = {.json = *std::move(parameters),
           .path = message(config.path(), "rope_parameters."),
           .origin = Origin::class_default};
  keep_types(config, family, found);
  return found;
}

LayerTypeRope labelled(std::string label, Json dictionary, const std::string& path) {
  std::string own_path = message(path, shorten(label), ".");
  return {.layer_type = std::move(label),
          .dictionary = std::move(dictionary),
          .path = std::move(own_path)};
}

// A dictionary for each label. Every label must be the type of some layer (see may_be_unused()).
// Each type with attention must have a dictionary, unless its absence means no rotation.
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
    const bool is_used = std::ranges::find(labels, key) != labels.end();
    if (!is_used && !may_be_unused(family, key)) {
      findings.fail(malformed_input(dictionary.path, shorten(key),
                                    " must be one of layer_types, got a name that is not in it"));
      return layout;
    }
    layout.ropes.push_back(labelled(key, value, dictionary.path));
    layout.ropes.back().origin = dictionary.origin;
  }
  for (const std::string& label : labels) {
    const auto found = std::ranges::find(layout.ropes, label, &LayerTypeRope::layer_type);
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

// If the dictionary has no base, sets it to the config's value of `key`, or else to `otherwise`.
void fill_base(Reader& config, std::string_view key, double otherwise, LayerTypeRope& rope) {
  const auto base = key.empty() ? std::nullopt : config.number(key);
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

// The keys that rope_scaling adds to a dictionary with a rope_type: all keys, or rope_theta alone
// if rope_scaling has `type` and no rope_type.
Json added_by(Reader& scaling) {
  Json added = scaling.json();
  const Json* const type = scaling.find("type");
  if (type == nullptr || scaling.find("rope_type") != nullptr) return added;
  if (*type != Json("default")) {
    scaling.warn("type ", describe(*type), " is ignored: the class reads rope_type alone");
  }
  std::erase_if(added.object(), [](const auto& member) { return member.first != "rope_theta"; });
  return added;
}

void refuse_flat(Reader& config, const Family& family, const Dictionary& flat) {
  config.malformed(
      "rope_parameters must have a dictionary for each layer type, because the family ",
      family.model_type, " has no other; got ",
      flat.json.size() > 0 ? shorten(flat.json.text()) : "none");
}

// UltraBERT: adds an error for a single base, and for rope_parameters that are not nested.
void check_bases(Reader& config, const Family& family, const Dictionary& dictionary) {
  const bool is_given = config.find("rope_parameters") != nullptr;
  const Json* const base = config.find("rope_theta");
  if (!is_given && base != nullptr && base->is_number()) {
    config.malformed("rope_theta must be a list, a base for each layer, got ", describe(*base));
  } else if (!is_nested(dictionary.json) && (is_given || dictionary.json.size() > 0)) {
    refuse_flat(config, family, dictionary);
  }
}

// Handles a single dictionary rope_parameters in a class that expects one for each layer type.
void find_flat(Reader& config, const Family& family) {
  const Json* const flat = config.find("rope_parameters");
  if (flat == nullptr || flat->size() == 0) return;
  if (family.rope.two_bases && family.rope.two_bases->flat == FlatParameters::refused) {
    config.malformed("rope_parameters must have a dictionary for each layer type, got ",
                     shorten(flat->text()));
  } else {
    config.warn("rope_parameters is ignored: the family ", family.model_type,
                " reads dictionaries of layer types there, and no others");
  }
}

// Adds rope_scaling to the dictionaries, like convert_rope_params_to_dict of Gemma 3 and others.
void add_scaling(Reader& config, const TwoBases& bases, Json::Object& types) {
  auto scaling = config.object("rope_scaling");
  if (!scaling || scaling->members().empty()) return;
  const Json added = added_by(*scaling);
  for (const std::string_view type : {bases.full_type, sliding}) {
    if (type == sliding && bases.scaled == ScaledLayers::full) continue;
    const auto [own, is_new] = types.try_emplace(std::string(type), Json::Object());
    if (is_new && config.find("rope_parameters") != nullptr) {
      config.malformed("rope_scaling must be absent, because rope_parameters has no dictionary of ",
                       type, ", to which it adds; got ", shorten(scaling->json().text()));
      return;
    }
    for (const auto& [key, value] : added.object())
      own->second.object().insert_or_assign(key, value);
  }
}

// The layout of a family whose full and sliding layers have different bases.
RopeLayout with_two_bases(Reader& config, const Family& family, Dictionary found,
                          const std::vector<std::string>& types) {
  const TwoBases& bases = *family.rope.two_bases;
  const bool copies = bases.flat == FlatParameters::of_all_layers;
  if (copies && config.find("rope_parameters") != nullptr &&
      found.path.ends_with("rope_scaling.")) {
    config.malformed("rope_scaling must be absent, because rope_parameters is given, too; got ",
                     shorten(found.json.text()));
  }
  if (!copies) {
    if (const auto given = config.object("rope_parameters")) found.json = given->json();
    keep_types(config, family, found);
  }
  const bool is_flat = !is_nested(found.json);
  const bool is_shared =
      copies && is_flat && (found.json.size() > 0 || config.find("rope_parameters") != nullptr);
  Json::Object by_type;
  if (!is_flat) by_type = found.json.object();
  if (!copies && is_flat) find_flat(config, family);
  if (!copies) add_scaling(config, bases, by_type);
  for (const std::string_view type : {bases.full_type, sliding}) {
    const auto [own, is_new] = by_type.try_emplace(std::string(type), Json::Object());
    if (is_new && is_shared) own->second = found.json;
  }
  found.json = Json(std::move(by_type));
  if (found.path.empty()) found.path = message(config.path(), "rope_parameters.");
  RopeLayout layout = nested(found, family, types, config.findings());
  const Json* const beside = config.find(bases.full_key);
  if (bases.sliding_key.empty() && beside != nullptr && *beside != Json(bases.sliding)) {
    config.warn(bases.full_key, " ", describe(*beside),
                " is of full layers alone; sliding ones turn with ", bases.sliding);
  }
  for (LayerTypeRope& rope : layout.ropes) {
    const bool is_sliding = rope.layer_type == sliding && !is_shared;
    fill_base(config, is_sliding ? bases.sliding_key : bases.full_key,
              is_sliding ? bases.sliding : bases.full, rope);
  }
  return layout;
}

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

RopeLayout lay_out(Reader& config, const Family& family, const std::vector<std::string>& types) {
  Dictionary dictionary;
  const auto& bases = family.rope.two_bases;
  if (!bases || bases->flat == FlatParameters::of_all_layers) {
    dictionary = find_dictionary(config, family);
  }
  const std::string expanded_path = message(config.path(), "rope_parameters.");
  const bool has_lists = family.rope.labels == RopeLabels::per_layer_lists;
  if (has_lists && family.rope.otherwise.empty() && !is_nested(dictionary.json)) {
    find_flat(config, family);
    dictionary.json.object().clear();
    if (auto scaling = config.object("rope_scaling")) dictionary.json = added_by(*scaling);
  } else if (has_lists) {
    check_bases(config, family, dictionary);
  }
  if (has_lists) {
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
  const std::string& path = dictionary.path.empty() ? expanded_path : dictionary.path;
  if (family.layers.rotating == RotaryLayers::layer_rope_theta) {
    return layer_bases(config, dictionary.json, path);
  }
  if (family.rope.two_bases) return with_two_bases(config, family, std::move(dictionary), types);
  if (is_nested(dictionary.json)) {
    if (!reads_types(family) && !family.model_type.empty()) {
      config.findings().warn("a dictionary for each layer type is used; the class of ",
                             family.model_type, " has one for all layers, and fails");
    }
    return nested(dictionary, family, types, config.findings());
  }
  if (reads_types(family) && !has_lists &&
      (dictionary.json.size() > 0 || !family.rope.otherwise.empty())) {
    refuse_flat(config, family, dictionary);
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
