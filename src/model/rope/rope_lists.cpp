// SPDX-License-Identifier: Apache-2.0
#include "model/rope/rope_lists.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "model/json/config_json.hpp"

namespace rotary {
namespace {

constexpr double default_base = 10000;            // configuration_step3p7.py, deepseek_v4's
constexpr double default_compress_base = 160000;  // configuration_deepseek_v4.py
constexpr std::size_t max_bases = 16;             // models have two

// Copies the list's entry to the dictionary of each layer type. Layers of a type must have the same
// entry, because the class takes the first.
void spread(Reader& config, std::string_view list_key, std::string_view key,
            const std::vector<std::string>& layer_types, Json::Object& dictionaries) {
  const auto values = config.numbers(list_key);
  if (!values) return;
  if (values->size() < layer_types.size()) {
    config.malformed(list_key, " must have one entry for each layer, ", layer_types.size(),
                     "; got ", values->size());
    return;
  }
  for (std::size_t i = 0; i < layer_types.size(); ++i) {
    Json::Object& dictionary = dictionaries[layer_types[i]].object();
    const auto [entry, is_first] = dictionary.try_emplace(std::string(key), (*values)[i]);
    if (!is_first && entry->second != Json((*values)[i])) {
      config.not_supported(list_key, " must be the same in all layers of type ",
                           shorten(layer_types[i]), "; got ", describe(entry->second), " and ",
                           (*values)[i]);
      return;
    }
  }
}

bool has_dictionary(const Json& dictionary, std::string_view label) {
  const Json* const found = dictionary.find(label);
  return found != nullptr && found->is_object();
}

// rope_type, or type in older files; null if there is neither.
const Json* type_in(const Json& dictionary) {
  const Json* const type = dictionary.find("rope_type");
  return type != nullptr ? type : dictionary.find("type");
}

}  // namespace

Json expand_lists(Reader& config, const Json& dictionary,
                  const std::vector<std::string>& layer_types) {
  Json::Object dictionaries;
  const Json* const base = config.find("rope_theta");
  const bool has_bases = base != nullptr && base->is_array();
  const bool has_fractions = config.find("partial_rotary_factors") != nullptr;
  if (has_dictionary(dictionary, "full_attention")) return Json(std::move(dictionaries));
  if (layer_types.empty() && (has_bases || has_fractions)) {
    config.malformed(
        "layer_types must be given, because rope_theta or partial_rotary_factors is a list; got "
        "none");
  }
  for (const std::string& type : layer_types) {
    dictionaries.try_emplace(type, Json::Object());
  }
  if (has_bases) spread(config, "rope_theta", "rope_theta", layer_types, dictionaries);
  spread(config, "partial_rotary_factors", "partial_rotary_factor", layer_types, dictionaries);
  if (const auto found = dictionaries.find("full_attention"); found != dictionaries.end()) {
    for (const auto& [key, value] : dictionary.object())
      found->second.object().insert_or_assign(key, value);
  }
  return Json(std::move(dictionaries));
}

Labelled main_and_compress(Reader& config, const Json& dictionary,
                           const std::vector<std::string>& layer_types) {
  Labelled labelled{.dictionaries = dictionary, .of_layer = {}};
  for (const std::string& type : layer_types)
    labelled.of_layer.emplace_back(type == "sliding_attention" ? "main" : "compress");
  if (!has_dictionary(dictionary, "main") || !has_dictionary(dictionary, "compress")) {
    const double base = config.number("rope_theta").value_or(default_base);
    const double compress_base =
        config.number("compress_rope_theta").value_or(default_compress_base);
    Json::Object compress = dictionary.object();
    compress.insert_or_assign("rope_theta", Json(compress_base));
    if (compress.erase("partial_rotary_factor") != 0) {
      config.warn(
          "partial_rotary_factor among the rope parameters is ignored: the class reads the "
          "one beside them");
    }
    const Json* const type = type_in(dictionary);
    if (type != nullptr && *type == "yarn") {
      labelled.assumes_factor = compress.try_emplace("attention_factor", 1.0).second;
    }
    labelled.are_stated = false;
    Json::Object main = {{"rope_theta", Json(base)}};
    labelled.dictionaries = Json(
        Json::Object{{"main", Json(std::move(main))}, {"compress", Json(std::move(compress))}});
  }
  // A model may have layers of one type alone.
  for (const std::string_view label : {"main", "compress"}) {
    const auto& used = labelled.of_layer;
    if (!used.empty() && std::find(used.begin(), used.end(), label) == used.end())
      labelled.dictionaries.object().erase(std::string(label));
  }
  if (layer_types.empty()) labelled.of_layer = {"main", "compress"};
  return labelled;
}

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
  const Json* const type = type_in(scaled.dictionary);
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

RopeLayout layer_bases(Reader& config, const Json& dictionary, const std::string& path) {
  RopeLayout layout{.ropes = {}, .of_layer = {}, .is_nested = false};
  std::vector<double> distinct;
  for (const double base : config.numbers("layer_rope_theta").value_or(std::vector<double>())) {
    const auto found = std::find(distinct.begin(), distinct.end(), base);
    layout.of_layer.push_back(base == 0 ? 0 : static_cast<std::size_t>(found - distinct.begin()));
    if (base != 0 && found == distinct.end()) distinct.push_back(base);
  }
  if (distinct.size() > max_bases) {
    config.malformed("layer_rope_theta must have at most ", max_bases, " different bases, got ",
                     distinct.size());
    return layout;
  }
  for (const double base : distinct) {
    Json own = dictionary;
    own.object().insert_or_assign("rope_theta", Json(base));
    std::optional<std::string> label;
    if (distinct.size() > 1) label = message("rope_theta ", base);
    layout.ropes.push_back({.layer_type = std::move(label),
                            .dictionary = std::move(own),
                            .path = path,
                            .base_key = "layer_rope_theta"});
    layout.is_nested = true;
  }
  if (layout.ropes.empty()) {
    layout.ropes.push_back({.layer_type = {}, .dictionary = dictionary, .path = path});
  }
  return layout;
}

}  // namespace rotary
