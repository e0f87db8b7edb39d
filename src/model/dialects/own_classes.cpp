// SPDX-License-Identifier: Apache-2.0
#include "model/dialects/own_classes.hpp"

#include <algorithm>
#include <array>

#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "model/words.hpp"

namespace rotary::dialects {
namespace {

constexpr EngineVersion always = {4, 57};

struct OwnRow {
  std::string_view families;
  OwnClass kind = OwnClass::none;
  EngineVersion last = {};  // inclusive
};

constexpr std::array own_rows = {
    OwnRow{"esm", OwnClass::fixed, {5, 5}},
    OwnRow{"chameleon", OwnClass::last_call, always},
    OwnRow{"llama", OwnClass::last_call, {4, 42}},
    OwnRow{"olmo olmo2", OwnClass::last_call, {4, 47}},
    OwnRow{"falcon gpt_neox persimmon phi stablelm", OwnClass::longest_call, {4, 44}},
    OwnRow{"dbrx nemotron recurrent_gemma", OwnClass::without_rules, always},
    OwnRow{"cohere gpt_neox_japanese qwen2 qwen2_moe starcoder2", OwnClass::without_rules, {4, 44}},
    OwnRow{"gemma gemma2 glm jetmoe mimi mistral mixtral moshi", OwnClass::without_rules, {4, 47}},
    OwnRow{"modernbert-decoder", OwnClass::without_rules, {4, 55}},
};

struct LastRelease {
  std::string_view families;
  EngineVersion last = {};
};

// Families whose head_dim is hidden_size / num_attention_heads in releases up to `last`.
constexpr std::array heads_divided = {
    LastRelease{"chameleon dbrx falcon modernbert", always},
    LastRelease{"mistral", {4, 42}},
    LastRelease{"llama", {4, 43}},
    LastRelease{"gpt_neox gpt_neox_japanese persimmon stablelm", {4, 44}},
    LastRelease{"mixtral", {4, 46}},
    LastRelease{"cohere granite olmo olmo2 phi phi3 qwen2 starcoder2", {4, 47}},
    LastRelease{"qwen2_moe", {4, 52}},
    LastRelease{"esm", {5, 5}}};

constexpr std::array whole_heads = {LastRelease{"modernbert", always},
                                    LastRelease{"phi3", {4, 47}}};

constexpr std::array bases_beside = {LastRelease{"afmoe", {5, 3}}};

struct BaseOfClass {
  std::string_view families;
  EngineVersion last = {};
  double base = 0;
};

// Default bases that classes had up to release `last`; later releases have other defaults.
constexpr std::array bases = {BaseOfClass{"cohere", always, 10000},
                              BaseOfClass{"falcon_h1 kyutai_speech_to_text", always, 100000},
                              BaseOfClass{"qwen3_vl_moe_text qwen3_vl_text", always, 5e6},
                              BaseOfClass{"esm", {5, 5}, 10000},
                              BaseOfClass{"olmo3", {5, 12}, 10000},
                              BaseOfClass{"persimmon", always, 25000}};

struct RulesOfClass {
  std::string_view families;
  EngineVersion last = {};
  std::string_view rope_scaling;  // for a config without the key
};

constexpr std::array rules_of_classes = {
    RulesOfClass{"apertus", always,
                 R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 8192, "high_freq_factor": 4.0})"},
    RulesOfClass{"gpt_oss", {4, 55}, R"({"rope_type": "yarn", "factor": 32.0, "truncate": false})"},
    RulesOfClass{"gpt_oss", always,
                 R"({"rope_type": "yarn", "factor": 32.0, "truncate": false,
                     "original_max_position_embeddings": 4096})"}};

// Families whose class replaces the dictionary's partial_rotary_factor by its own.
constexpr std::string_view fixed_fractions = "qwen3_next qwen3_5_text qwen3_5_moe_text solar_open";

template <class Rows>
const auto* row_of(const Rows& rows, std::string_view model_type) {
  const auto* const found = std::ranges::find_if(
      rows, [&](const auto& row) { return has_word(row.families, family_of(model_type)); });
  return found == rows.end() ? nullptr : found;
}

bool forget(ConfigEdit& config, std::string_view key) {
  const auto found = config.keys.find(key);
  if (found == config.keys.end() || found->second.is_null()) return false;
  config.keys.erase(found);
  return true;
}

// Removes the key if the family's class does not yet read it in this release.
template <class Rows>
bool forget_until(const Rows& rows, ConfigEdit& config, std::string_view key) {
  const LastRelease* const row = row_of(rows, config.model_type);
  return row != nullptr && config.version <= row->last && forget(config, key);
}

Json::Object* rope_dictionary(ConfigEdit& config, std::string_view name) {
  const auto found = config.keys.find(name);
  const bool is_there = found != config.keys.end() && found->second.is_object();
  return is_there ? &found->second.object() : nullptr;
}

bool is_longrope(const Json::Object& rope) {
  return std::ranges::any_of(std::array{"rope_type", "type"}, [&](const char* key) {
    const auto found = rope.find(key);
    return found != rope.end() && found->second == std::string_view("longrope");
  });
}

}  // namespace

OwnClass own_class(std::string_view model_type, const EngineVersion& version) {
  const OwnRow* const row = row_of(own_rows, model_type);
  return row != nullptr && version <= row->last ? row->kind : OwnClass::none;
}

bool forget_rope_parameters(ConfigEdit& config) { return forget(config, "rope_parameters"); }

bool forget_keys_inside(ConfigEdit& config) {
  Json::Object* const rope = rope_dictionary(config, "rope_scaling");
  return rope != nullptr && rope->erase("rope_theta") + rope->erase("partial_rotary_factor") > 0;
}

bool forget_rules(ConfigEdit& config) {
  const OwnClass kind = own_class(config.model_type, config.version);
  const bool is_fixed = kind == OwnClass::fixed;
  bool acted = (is_fixed || kind == OwnClass::without_rules) && forget(config, "rope_scaling");
  if (!is_fixed) return acted;
  for (const char* key : {"rope_parameters", "rope_theta"}) acted = forget(config, key) || acted;
  return acted;
}

bool forget_head_dim(ConfigEdit& config) { return forget_until(heads_divided, config, "head_dim"); }

bool forget_partial(ConfigEdit& config) {
  return forget_until(whole_heads, config, "partial_rotary_factor");
}

bool forget_base_beside(ConfigEdit& config) {
  return forget_until(bases_beside, config, "rope_theta");
}

bool take_base_of_class(ConfigEdit& config) {
  const BaseOfClass* const row = row_of(bases, config.model_type);
  const auto found = config.keys.find("rope_theta");
  if (row == nullptr || row->last < config.version) return false;
  if (found != config.keys.end() && !found->second.is_null()) return false;
  config.keys.insert_or_assign("rope_theta", Json(row->base));
  return true;
}

bool take_rules_of_class(ConfigEdit& config) {
  const auto row = std::ranges::find_if(rules_of_classes, [&](const RulesOfClass& each) {
    return each.families == family_of(config.model_type) && config.version <= each.last;
  });
  if (row == rules_of_classes.end()) return false;
  const auto found = config.keys.find("rope_scaling");
  const bool is_null = found != config.keys.end();
  if (is_null && !found->second.is_null()) return false;
  auto rules = parse_config(is_null ? R"({"rope_type": "default"})" : row->rope_scaling);
  if (!rules) return false;
  config.keys.insert_or_assign("rope_scaling", *std::move(rules));
  return true;
}

bool forget_partial_inside(ConfigEdit& config) {
  if (!has_word(fixed_fractions, family_of(config.model_type))) return false;
  bool acted = false;
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    Json::Object* const rope = rope_dictionary(config, key);
    if (rope != nullptr && rope->erase("partial_rotary_factor") > 0) acted = true;
  }
  return acted;
}

bool take_head_dim_as_rope_dim(ConfigEdit& config) {
  if (config.model_type != "glm_moe_dsa") return false;
  const auto given = config.keys.find("head_dim");
  if (given == config.keys.end() || !given->second.is_integer()) return false;
  Json& rope_dim = config.keys["qk_rope_head_dim"];
  if (rope_dim == given->second) return false;
  rope_dim = given->second;
  return true;
}

bool take_maximum_as_longrope_original(ConfigEdit& config) {
  Json::Object* const rope = rope_dictionary(config, "rope_scaling");
  if (rope == nullptr || !is_longrope(*rope)) return false;
  constexpr std::string_view key = "original_max_position_embeddings";
  const auto maximum = config.keys.find("max_position_embeddings");
  const auto inside = rope->find(key);
  if (inside == rope->end() || maximum == config.keys.end() || config.keys.contains(key))
    return false;
  if (inside->second == maximum->second) return false;
  inside->second = maximum->second;
  return true;
}

}  // namespace rotary::dialects
