// SPDX-License-Identifier: Apache-2.0
// The rules of releases of Hugging Face Transformers; tests/golden/releases.txt shows the effects.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/message.hpp"
#include "model/dialects/own_classes.hpp"

namespace rotary {
namespace {

using dialects::own_class;
using dialects::OwnClass;

constexpr EngineVersion first_release = {4, 33};
constexpr EngineVersion last_release = {5, 24};

bool is_scaled(const RuleTarget& target) {
  return !std::holds_alternative<NoScaling>(target.rotary.spec.scaling);
}

// Whether the family's class, such as Phi-3's, passes the length of a call to LongRoPE.
bool passes_length(const RuleTarget& target) {
  const std::string_view family = target.model.model_type;
  return family.starts_with("phi") && family != "phi";
}

// Whether the family's class in this release knows only linear and dynamic scaling.
bool has_two_rules(const RuleTarget& target) {
  const OwnClass kind = own_class(target.model.model_type, target.version);
  return kind == OwnClass::last_call || kind == OwnClass::longest_call ||
         target.version <= EngineVersion{4, 42};
}

void refuse_rope_types(RuleTarget& target) {
  const std::string_view type = rope_type(target.rotary.spec.scaling);
  if (type != "yarn" && type != "llama3" && type != "longrope") return;
  if (has_two_rules(target))
    refuse(target, message("rope_type ", type, " is unknown to the family's own class"));
}

void divide_hidden_size(RuleTarget& target) {
  const StatedKeys& stated = target.stated;
  RotarySpec& spec = target.rotary.spec;
  if (!is_scaled(target) || !stated.hidden_size || stated.heads.value_or(0) < 1) return;
  const std::int64_t features = *stated.hidden_size / *stated.heads;
  if (features == spec.head_dim || spec.head_dim != spec.rotary_dim.value_or(spec.head_dim)) return;
  if (features < 2 || features % 2 != 0)
    return refuse(target, message("hidden_size / num_attention_heads is ", features,
                                  ", which makes no pairs"));
  target.acted = true;
  spec.head_dim = features;
  spec.rotary_dim.reset();
}

void refuse_null_factor(RuleTarget& target) {
  if (rule_of<YarnScaling>(target) != nullptr && target.stated.factor_is_null)
    refuse(target, "it takes the logarithm of factor, which is null");
}

// Refuses a null head_dim in families that keep it null: every rule except linear multiplies it.
void refuse_null_head_dim(RuleTarget& target) {
  const std::string_view family = target.model.model_type;
  if (family != "mistral" && family != "mixtral" && family != "minimax") return;
  if (!is_scaled(target) || rule_of<LinearScaling>(target) != nullptr) return;
  const bool is_stated = std::ranges::any_of(target.rotary.sources, [](const ValueSource& source) {
    return source.value == "head_dim" && source.origin == Origin::stated;
  });
  if (!is_stated) refuse(target, "its function of the rule multiplies head_dim, which is null");
}

void take_maximum_as_original(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  const auto trained = target.rotary.trained_context_tokens;
  if (yarn != nullptr && trained) set(target, yarn->original_context_tokens, *trained);
}

void ignore_mscale(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr || yarn->attention_factor) return;
  dialects::compute_yarn_attention_factor(target);
}

void take_yarn_factor_of_lengths(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  const auto trained = target.rotary.trained_context_tokens;
  if (yarn == nullptr || !trained || yarn->original_context_tokens < 1) return;
  if (!target.stated.original_inside.value_or(true)) return;
  set(target, yarn->factor,
      static_cast<double>(*trained) / static_cast<double>(yarn->original_context_tokens));
}

void take_longrope_factor_of_lengths(RuleTarget& target) {
  if (target.stated.original_beside.value_or(true))
    dialects::take_longrope_factor_of_lengths(target);
}

void choose_list(RuleTarget& target, LongRopeSwitch list) {
  auto* const longrope = rule_of<LongRopeScaling>(target);
  if (longrope == nullptr || passes_length(target)) return;
  if (longrope->lists == LongRopeSwitch::by_context) set(target, longrope->lists, list);
}

void choose_long_list(RuleTarget& target) {
  const auto* const longrope = rule_of<LongRopeScaling>(target);
  const bool is_longer = longrope != nullptr && longrope->factor > 1;
  choose_list(target, is_longer ? LongRopeSwitch::always_long : LongRopeSwitch::always_short);
}

void choose_short_list(RuleTarget& target) { choose_list(target, LongRopeSwitch::always_short); }

template <LengthPolicy policy>
void remember_lengths(RuleTarget& target) {
  if (rule_of<DynamicNtkScaling>(target) != nullptr) set(target, target.lengths, policy);
}

// Calls remember_lengths() for classes of this kind and, up to release `last`, for all classes.
template <LengthPolicy policy, OwnClass kind, EngineVersion last>
void remember_lengths_of(RuleTarget& target) {
  if (own_class(target.model.model_type, target.version) == kind || target.version <= last)
    remember_lengths<policy>(target);
}

// Classes with parameters for each layer type store lengths under the type's name. Olmo 3 and
// classes with one dictionary store them under None.
void forget_lengths(RuleTarget& target) {
  if (target.rotary.layer_type && target.model.model_type != "olmo3")
    remember_lengths<LengthPolicy::kept_above_trained>(target);
  else
    remember_lengths<LengthPolicy::last_long_call>(target);
}

void read_partial_rotary_factor(RuleTarget& target) {
  const bool is_any = target.version == EngineVersion{};
  if (is_any || own_class(target.model.model_type, target.version) == OwnClass::none)
    dialects::read_partial_rotary_factor(target);
}

void take_rope_of_full_layers(RuleTarget& target) {
  if (target.model.model_type != "olmo3") return;
  for (const ModelRotary& rotary : target.model.rotary)
    if (rotary.layer_type == "full_attention" && &rotary != &target.rotary) {
      target.rotary.spec = rotary.spec;
      target.acted = true;
    }
}

void forget_softmax_factor(RuleTarget& target) {
  const std::string_view type = target.model.model_type;
  if (type == "deepseek_v2" || type == "mistral4") set(target, target.rotary.softmax_factor, 1.0);
}

constexpr EngineVersion last_of_4 = {4, 57};
constexpr std::string_view rope_utils = "transformers/modeling_rope_utils.py";

constexpr Seen run(const EngineVersion& first, const EngineVersion& last) {
  return {Engine::transformers, Evidence::run, first, last};
}

constexpr Seen read(const EngineVersion& first, const EngineVersion& last) {
  return {Engine::transformers, Evidence::read, first, last};
}

constexpr std::array releases = {
    rule(read(first_release, last_release), "engine_keys_unread",
         "attn_factor and extrapolation_factor of YaRN, and alpha of dynamic NTK, are not read.",
         rope_utils, dialects::ignore_engine_keys),
    rule(run(first_release, last_of_4), "rope_parameters_unread",
         "rope_parameters came with version 5: its base and its rule are not read.",
         "transformers/models/*/configuration_*.py", dialects::forget_rope_parameters),
    rule(run(first_release, last_of_4), "keys_inside_unread",
         "rope_theta and partial_rotary_factor inside rope_scaling are not read.", rope_utils,
         dialects::forget_keys_inside),
    rule(run(first_release, {5, 5}), "rules_of_family_unread",
         "The family's own rotary class does not read rope_scaling.",
         "transformers/models/*/modeling_*.py; families in own_classes.cpp",
         dialects::forget_rules),
    rule(run(first_release, {5, 5}), "head_dim_of_family_unread",
         "The family divides hidden_size by num_attention_heads, and does not read head_dim.",
         "transformers/models/*/modeling_*.py; families in own_classes.cpp",
         dialects::forget_head_dim),
    rule(run(first_release, last_of_4), "partial_of_family_unread",
         "The family's class does not read partial_rotary_factor.",
         "transformers/models/*/modeling_*.py; families in own_classes.cpp",
         dialects::forget_partial),
    rule(run(first_release, {5, 12}), "base_of_class",
         "The family's class has another base for a config that gives none.",
         "transformers/models/*/configuration_*.py; families in own_classes.cpp",
         dialects::take_base_of_class),
    rule(run({5, 0}, {5, 3}), "base_beside_unread",
         "The family's class does not read rope_theta beside the rope dictionary.",
         "transformers/models/afmoe/configuration_afmoe.py of 5.0.0 to 5.3.0",
         dialects::forget_base_beside),
    rule(run({4, 55}, last_of_4), "rules_of_class",
         "The family's class has other rules for a config without rope_scaling, and none for one "
         "where it is null.",
         "transformers/models/*/configuration_*.py; families in own_classes.cpp",
         dialects::take_rules_of_class),
    rule(run({5, 0}, {5, 16}), "partial_inside_overwritten",
         "The class writes its own partial_rotary_factor over that of the rope dictionary.",
         "configuration_utils.py; families in own_classes.cpp", dialects::forget_partial_inside),
    rule(read({5, 4}, {5, 9}), "head_dim_is_rope_dim",
         "GLM's sparse attention takes head_dim for qk_rope_head_dim.",
         "transformers/models/glm_moe_dsa/configuration_glm_moe_dsa.py, attribute_map",
         dialects::take_head_dim_as_rope_dim),
    rule(run({5, 0}, {5, 12}), "olmo3_one_rope",
         "OLMo 3 has one rotary embedding: its sliding layers are scaled, too.",
         "transformers/models/olmo3/modeling_olmo3.py of 5.0.0 to 5.12.1",
         take_rope_of_full_layers),
    rule(run({4, 43}, last_of_4), "longrope_original_inside_unread",
         "LongRoPE's original_max_position_embeddings inside rope_scaling is not read: "
         "max_position_embeddings replaces it.",
         rope_utils, dialects::take_maximum_as_longrope_original),
    rule(run(first_release, last_of_4), "rope_type_unknown",
         "A class without modeling_rope_utils.py knows only rope_type linear and dynamic.",
         "transformers/models/llama/modeling_llama.py of 4.40.2, families in own_classes.cpp; "
         "Phi-3's own class of 4.41 to 4.47 is not described",
         refuse_rope_types),
    rule(run({4, 43}, {4, 43}), "head_dim_unread",
         "Functions of scaled rules divide hidden_size by num_attention_heads, and do not read "
         "head_dim.",
         rope_utils, divide_hidden_size),
    rule(run({4, 43}, {4, 50}), "yarn_null_factor_fails", "YaRN fails if factor is null.",
         rope_utils, refuse_null_factor),
    rule(run({4, 56}, {4, 57}), "yarn_null_factor_fails_again", "YaRN fails if factor is null.",
         rope_utils, refuse_null_factor),
    rule(run({4, 53}, {4, 57}), "null_head_dim_fails",
         "Scaled rules fail if head_dim is null or not given.", rope_utils, refuse_null_head_dim),
    rule(run({4, 43}, {4, 50}), "yarn_original_of_maximum",
         "YaRN's ramp is that of max_position_embeddings; original_max_position_embeddings is not "
         "read.",
         "modeling_rope_utils.py; changed by #33783", take_maximum_as_original),
    rule(run({4, 43}, {4, 50}), "yarn_mscale_unread",
         "YaRN's mscale and mscale_all_dim are not read.",
         "modeling_rope_utils.py; changed by #33783", ignore_mscale),
    rule(run({4, 51}, {4, 55}), "yarn_factor_of_lengths",
         "YaRN's factor is replaced by max_position_embeddings / original_max_position_embeddings, "
         "if that is given. If both are the trained length, it is 1: YaRN has no effect.",
         "modeling_rope_utils.py; #38224, undone by #40320", take_yarn_factor_of_lengths),
    rule(run({4, 43}, {4, 54}), "yarn_truncate_unread",
         "YaRN's ramp always ends at whole pairs: truncate is not read.",
         "modeling_rope_utils.py; 4.54.1 has no truncate, 4.55.4 has", dialects::round_yarn_ramp),
    rule(run({4, 43}, {4, 57}), "longrope_factor_of_lengths",
         "LongRoPE's factor is replaced by max_position_embeddings / "
         "original_max_position_embeddings.",
         rope_utils, take_longrope_factor_of_lengths),
    rule(run({4, 43}, {4, 47}), "longrope_list_of_factor",
         "If a model does not pass on the length, LongRoPE takes the long list at every length, "
         "because its factor is above 1.",
         "modeling_rope_utils.py of 4.43.4 to 4.47.1", choose_long_list),
    rule(run({4, 48}, {4, 50}), "longrope_short_list",
         "If a model does not pass on the length, LongRoPE takes the short list at every length.",
         "modeling_rope_utils.py of 4.48.3 to 4.50.3", choose_short_list),
    rule(run(first_release, {4, 44}), "dynamic_never_restored",
         "Dynamic NTK's base grows with the longest call and never shrinks.",
         "transformers/models/llama/modeling_llama.py of 4.33.3 to 4.37.2",
         remember_lengths_of<LengthPolicy::longest_call, OwnClass::longest_call,
                             EngineVersion{4, 37}>),
    rule(run({4, 38}, last_of_4), "dynamic_of_last_long_call",
         "Dynamic NTK's base is that of the last call beyond the trained length, also in shorter "
         "calls after it.",
         "transformers/models/llama/modeling_llama.py of 4.38.2 to 4.40.2",
         remember_lengths_of<LengthPolicy::last_long_call, OwnClass::last_call, EngineVersion{}>),
    rule(run({4, 43}, last_of_4), "dynamic_kept_above_trained",
         "Dynamic NTK's base is that of the longest call, until a call is shorter than the trained "
         "length.",
         rope_utils,
         remember_lengths_of<LengthPolicy::kept_above_trained, OwnClass::none, EngineVersion{}>),
    rule(run({5, 0}, {5, 12}), "dynamic_never_reset",
         "Dynamic NTK's base is that of the last call beyond the trained length, also in shorter "
         "calls after it: the longest call is written to None_max_seq_len_cached. Models with "
         "parameters for each layer type are not affected.",
         "modeling_rope_utils.py; #39847, undone by #46624", forget_lengths),
    rule(run({5, 13}, last_release), "dynamic_reset",
         "Dynamic NTK's base is that of the longest call, until a call is shorter than the trained "
         "length.",
         "modeling_rope_utils.py; #46624", remember_lengths<LengthPolicy::kept_above_trained>),
    rule(run({4, 43}, {4, 57}), "partial_rotary_factor_read",
         "The function that all models share reads partial_rotary_factor, also for models that "
         "rotate entire heads.",
         rope_utils, read_partial_rotary_factor),
    rule(read({4, 54}, {5, 13}), "deepseek_v2_softmax",
         "The softmax scale of DeepSeek-V2 and Mistral 4 lacks the square of YaRN's factor.",
         "modeling_deepseek_v2.py and modeling_mistral4.py of 4.57.6 and 5.13.1; #47435",
         forget_softmax_factor),
};

}  // namespace

std::span<const DialectRule> transformers_rules() { return releases; }

}  // namespace rotary
