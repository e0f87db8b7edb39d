// SPDX-License-Identifier: Apache-2.0
// Releases of Hugging Face Transformers: docs/theory/transformers-releases.md has what each was
// seen to do. A rule begins in the minor version that the change came with.
#include <array>
#include <string>
#include <string_view>

#include "base/message.hpp"
#include "model/dialects/rule_target.hpp"

namespace rotary {
namespace {

constexpr EngineVersion first_release = {4, 33};
constexpr EngineVersion last_release = {5, 23};

bool is_scaled(const RuleTarget& target) {
  return !std::holds_alternative<NoScaling>(target.rotary.spec.scaling);
}

// Phi-3 and its like pass the length on to their lists.
bool passes_length(const RuleTarget& target) {
  return std::string_view(target.model.model_type).starts_with("phi");
}

void refuse_rope_types(RuleTarget& target) {
  const std::string_view type = rope_type(target.rotary.spec.scaling);
  if (type != "yarn" && type != "llama3" && type != "longrope") return;
  target.refusal = message("rope_type ", type, " came with 4.43");
  target.acted = true;
}

void divide_hidden_size(RuleTarget& target) {
  const StatedKeys& stated = target.stated;
  RotarySpec& spec = target.rotary.spec;
  if (!is_scaled(target) || !stated.hidden_size || stated.heads.value_or(0) < 1) return;
  const std::int64_t features = *stated.hidden_size / *stated.heads;
  if (features == spec.head_dim || spec.head_dim != spec.rotary_dim.value_or(spec.head_dim)) return;
  target.acted = true;
  if (features < 2 || features % 2 != 0) {
    target.refusal =
        message("hidden_size / num_attention_heads is ", features, ", which makes no pairs");
    return;
  }
  spec.head_dim = features;
  spec.rotary_dim.reset();
}

void refuse_null_factor(RuleTarget& target) {
  if (rule_of<YarnScaling>(target) == nullptr || !target.stated.factor_is_null) return;
  target.refusal = "it takes the logarithm of factor, which is null";
  target.acted = true;
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
  set(target, yarn->factor,
      static_cast<double>(*trained) / static_cast<double>(yarn->original_context_tokens));
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

void forget_softmax_factor(RuleTarget& target) {
  if (target.model.model_type == "deepseek_v2") set(target, target.rotary.softmax_factor, 1.0);
}

bool drop_parameters(ConfigEdit& config) {
  const auto found = config.keys.find("rope_parameters");
  if (found == config.keys.end() || found->second.is_null()) return false;
  config.keys.erase(found);
  return true;
}

constexpr std::string_view rope_utils = "transformers/modeling_rope_utils.py";

constexpr std::array releases = {
    DialectRule{"rope_parameters_unread",
                "rope_parameters came with 5.0 and is not read: scaling and base in it are lost.",
                "the configuration classes of 4.33 to 4.57 read rope_scaling and rope_theta",
                Evidence::run,
                Engine::transformers,
                first_release,
                {4, 57},
                nullptr,
                drop_parameters},
    DialectRule{"rope_type_unknown",
                "There is no modeling_rope_utils.py yet: rope_type is linear or dynamic.",
                "transformers/models/llama/modeling_llama.py of 4.40.2; Phi-3's own class of 4.41 "
                "and 4.42 is not described",
                Evidence::run,
                Engine::transformers,
                first_release,
                {4, 42},
                refuse_rope_types},
    DialectRule{"head_dim_unread",
                "Functions of scaled rules divide hidden_size by num_attention_heads, and do not "
                "read head_dim.",
                rope_utils,
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 43},
                divide_hidden_size},
    DialectRule{"yarn_null_factor_fails",
                "YaRN fails where factor is null.",
                rope_utils,
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 50},
                refuse_null_factor},
    DialectRule{"yarn_null_factor_fails_again",
                "YaRN fails where factor is null.",
                rope_utils,
                Evidence::run,
                Engine::transformers,
                {4, 56},
                {4, 57},
                refuse_null_factor},
    DialectRule{"yarn_original_of_maximum",
                "YaRN's ramp is that of max_position_embeddings; "
                "original_max_position_embeddings is not read.",
                "modeling_rope_utils.py; changed by #33783",
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 50},
                take_maximum_as_original},
    DialectRule{"yarn_mscale_unread",
                "YaRN's mscale and mscale_all_dim are not read.",
                "modeling_rope_utils.py; changed by #33783",
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 50},
                ignore_mscale},
    DialectRule{"yarn_factor_of_lengths",
                "YaRN's factor is replaced by max_position_embeddings / "
                "original_max_position_embeddings, which is 1, and no YaRN at all, where both are "
                "the trained length.",
                "modeling_rope_utils.py; #38224, undone by #40320",
                Evidence::run,
                Engine::transformers,
                {4, 51},
                {4, 55},
                take_yarn_factor_of_lengths},
    DialectRule{"yarn_truncate_unread",
                "YaRN's ramp always ends at whole pairs: truncate is not read.",
                "modeling_rope_utils.py; 4.54.1 has no truncate, 4.55.4 has",
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 54},
                dialects::round_yarn_ramp},
    DialectRule{"longrope_factor_of_lengths",
                "LongRoPE's factor is replaced by max_position_embeddings / "
                "original_max_position_embeddings.",
                rope_utils,
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 57},
                dialects::take_longrope_factor_of_lengths},
    DialectRule{"longrope_list_of_factor",
                "LongRoPE of models that do not pass the length on takes the long list at every "
                "length, since its factor is above 1.",
                "modeling_rope_utils.py of 4.43.4 to 4.47.1",
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 47},
                choose_long_list},
    DialectRule{"longrope_short_list",
                "LongRoPE of models that do not pass the length on takes the short list at every "
                "length.",
                "modeling_rope_utils.py of 4.48.3 to 4.50.3",
                Evidence::run,
                Engine::transformers,
                {4, 48},
                {4, 50},
                choose_short_list},
    DialectRule{"dynamic_never_restored",
                "Dynamic NTK's base grows with the longest call and never shrinks.",
                "transformers/models/llama/modeling_llama.py of 4.33.3 to 4.37.2",
                Evidence::run,
                Engine::transformers,
                first_release,
                {4, 37},
                remember_lengths<LengthPolicy::longest_call>},
    DialectRule{"dynamic_of_last_long_call",
                "Dynamic NTK's base is that of the last call beyond the trained length, also in "
                "shorter calls after it.",
                "transformers/models/llama/modeling_llama.py of 4.38.2 to 4.40.2",
                Evidence::run,
                Engine::transformers,
                {4, 38},
                {4, 42},
                remember_lengths<LengthPolicy::last_long_call>},
    DialectRule{"dynamic_kept_above_trained",
                "Dynamic NTK's base is that of the longest call, until a call is shorter than the "
                "trained length.",
                rope_utils,
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 57},
                remember_lengths<LengthPolicy::kept_above_trained>},
    DialectRule{"dynamic_never_reset",
                "Dynamic NTK's base is that of the last call beyond the trained length, also in "
                "shorter calls after it: the longest call is written to None_max_seq_len_cached.",
                "modeling_rope_utils.py; #39847, undone by #46624",
                Evidence::run,
                Engine::transformers,
                {5, 0},
                {5, 12},
                remember_lengths<LengthPolicy::last_long_call>},
    DialectRule{"dynamic_reset",
                "Dynamic NTK's base is that of the longest call, until a call is shorter than the "
                "trained length.",
                "modeling_rope_utils.py; #46624",
                Evidence::run,
                Engine::transformers,
                {5, 13},
                last_release,
                remember_lengths<LengthPolicy::kept_above_trained>},
    DialectRule{"partial_rotary_factor_read",
                "The function that all models share reads partial_rotary_factor, also for models "
                "that turn whole heads.",
                rope_utils,
                Evidence::run,
                Engine::transformers,
                {4, 43},
                {4, 57},
                dialects::read_partial_rotary_factor},
    DialectRule{"deepseek_v2_softmax",
                "DeepSeek-V2's softmax scale lacks the square of YaRN's factor.",
                "transformers/models/deepseek_v2/modeling_deepseek_v2.py of 4.54.1 and 4.57.6",
                Evidence::read,
                Engine::transformers,
                {4, 54},
                {4, 57},
                forget_softmax_factor},
};

}  // namespace

std::span<const DialectRule> transformers_rules() { return releases; }

}  // namespace rotary
