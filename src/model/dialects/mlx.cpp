// SPDX-License-Identifier: Apache-2.0
// The rules of mlx-lm 0.32.2: mlx_lm/models/rope_utils.py, which most models share, and the models'
// own files. `./dev golden --dialects mlx` runs rope_utils.py; --evidence runs the models' files.
#include <algorithm>
#include <array>
#include <optional>

#include "model/dialects/rule_target.hpp"

namespace rotary {
namespace {

using dialects::drop_scaling;
using dialects::is_of;

// Takes the long list for all positions, without long_mscale.
void take_long_list(RuleTarget& target) {
  dialects::compute_longrope_attention_factor(target);
  auto* const longrope = rule_of<LongRopeScaling>(target);
  if (longrope == nullptr) return;
  set(target, longrope->attention_factor, std::optional<double>());
  set(target, longrope->long_mscale, std::optional<double>());
  set(target, longrope->lists, LongRopeSwitch::always_long);
}

void pair_halves(RuleTarget& target) {
  if (rule_of<LongRopeScaling>(target) != nullptr)
    set(target, target.rotary.spec.pairing, Pairing::half);
}

// Families whose files read other keys than most.
constexpr std::string_view scaling_unread =
    "cohere cohere2 dbrx ernie4_5 ernie4_5_moe gemma gemma2 gemma3n_text glm glm4 glm4_moe "
    "gpt_neox granitemoehybrid helium lfm2 lfm2_moe mimo_v2_flash minimax_m2 mixtral "
    "muse_glimmer_text nanochat olmo_hybrid openelm phi phi3small qwen qwen2_moe qwen3_moe "
    "qwen3_vl_moe_text recurrent_gemma solar_open stablelm starcoder2";

constexpr std::string_view part_read =
    "bailing_hybrid bailing_moe bailing_moe_v2 gemma4 gemma4_text glm4 glm4_moe gpt_neox gptj "
    "laguna mimo_v2_flash minimax_m2 minimax_m3_vl_text nemotron phi phi-msft phi3 phimoe "
    "qwen3_5_moe_text qwen3_5_text qwen3_next recurrent_gemma solar_open spark2_5 stablelm "
    "step3p5";

// The base that an mlx-lm file uses without an outer rope_theta. Few files read rope_parameters.
struct ThetaOtherwise {
  double theta;
  std::string_view model_types;
};
constexpr auto thetas_otherwise = std::to_array<ThetaOtherwise>({
    {1e4,
     "afmoe bitnet deepseek deepseek_v3 deepseek_v32 gemma gemma2 glm hunyuan_v1_dense "
     "internlm2 internlm3 iquestcoder kimi_k2 llama mimo mistral nanochat nemotron olmo2 olmoe "
     "phi phi3 phimoe seed_oss smollm3 step3p5 xverse"},
    {8e6, "cohere"},
    {5e4, "cohere2"},
    {1e11, "falcon_h1"},
    {1e6, "exaone_moe glm4_moe_lite minicpm mixtral qwen2 qwen2_5_vl_text qwen2_moe qwen2_vl_text"},
    {150000, "gpt_oss"},
    {5e5, "muse_glimmer_text nemotron-nas"},
    {1e5, "starcoder2"},
});
constexpr std::string_view theta_required =
    "apertus bailing_hybrid bailing_moe bailing_moe_v2 dots1 ernie4_5 ernie4_5_moe exaone "
    "exaone4 gemma3n_text glm4 glm4_moe granite granitemoe helium hunyuan llama4_text "
    "longcat_flash mimo_v2_flash minimax minimax_m2 olmo3 qwen3_moe qwen3_next "
    "qwen3_vl_moe_text recurrent_gemma solar_open stablelm";
constexpr std::string_view some_theta_required = "qwen3 qwen3_vl_text";
constexpr std::string_view theta_of_parameters =
    "exaone_moe granitemoehybrid lfm2 lfm2_moe muse_glimmer_text olmo_hybrid";
constexpr std::string_view parameters_read =
    "glm_moe_dsa minimax_m3_vl_text ministral3 mistral4 qwen3_5_moe_text qwen3_5_text";

void forget_theta_of_mlx(RuleTarget& target) {
  if (target.model.model_type == "recurrent_gemma")
    set(target, target.rotary.spec.base, Required<double>(10000.0));
}

void drop_unread_scaling(RuleTarget& target) {
  const Scaling& scaling = target.rotary.spec.scaling;
  const std::string_view type = target.model.model_type;
  const bool is_dropped =
      is_of(target, scaling_unread) ||
      (type == "deepseek" && !std::holds_alternative<LinearScaling>(scaling)) ||
      (type == "minicpm3" && !std::holds_alternative<LongRopeScaling>(scaling)) ||
      (type == "mellum" && std::holds_alternative<LinearScaling>(scaling));
  if (is_dropped) drop_scaling(target);
}

void turn_whole_head_of_mlx(RuleTarget& target) {
  RotarySpec& spec = target.rotary.spec;
  const bool is_whole = spec.rotary_dim.value_or(spec.head_dim) == spec.head_dim;
  if (is_whole || target.rotary.nope_head_dim > 0 || is_of(target, part_read)) return;
  set(target, spec.rotary_dim, std::optional(spec.head_dim));
}

// Whether the config has no rope_theta outside its dictionary. False for a model without a config.
bool lacks_theta_beside(const RuleTarget& target) {
  return target.stated.has_scaling_key && !target.stated.theta_beside;
}

// True if the config's only rope dictionary is rope_parameters, and it serves all layers.
bool is_of_parameters(const RuleTarget& target) {
  return target.stated.has_parameters && !target.stated.has_scaling && !target.rotary.layer_type;
}

void refuse_absent_theta(RuleTarget& target) {
  const StatedKeys& stated = target.stated;
  const bool lacks_any = is_of(target, some_theta_required) && !stated.theta_within;
  if (lacks_theta_beside(target) && (lacks_any || is_of(target, theta_required)))
    refuse(target, "its class must have rope_theta, beside rope_parameters");
}

void refuse_absent_scaling(RuleTarget& target) {
  if (is_of(target, "exaone4 glm4_moe") && !target.stated.has_scaling_key.value_or(true))
    refuse(target, "its class must have rope_scaling, which may be null");
}

void refuse_other_head_dim(RuleTarget& target) {
  const StatedKeys& stated = target.stated;
  if (is_of(target, "bitnet cohere2 exaone") && stated.hidden_size && stated.heads &&
      target.rotary.spec.head_dim * *stated.heads != *stated.hidden_size)
    refuse(target, "its class must have head_dim times num_attention_heads = hidden_size");
}

// Refuses an original context outside the dictionary. Phi's files read it; MiniCPM3's uses 4096.
void want_longrope_original_within(RuleTarget& target) {
  auto* const longrope = rule_of<LongRopeScaling>(target);
  const bool is_within = target.stated.original_inside.value_or(true);
  const bool is_nested = target.rotary.layer_type.has_value();
  if (longrope == nullptr || is_within || is_nested || is_of(target, "phi3 phimoe")) return;
  if (is_of(target, "minicpm3")) return set(target, longrope->original_context_tokens, 4096);
  refuse(target, "its class must have original_max_position_embeddings within the dictionary");
}

void forget_parameters(RuleTarget& target) {
  const auto otherwise = std::ranges::find_if(
      thetas_otherwise, [&](const ThetaOtherwise& row) { return is_of(target, row.model_types); });
  const bool has_theta = otherwise != thetas_otherwise.end();
  const bool is_of_rope = is_of_parameters(target);
  const bool reads_theta = is_of_rope && is_of(target, theta_of_parameters);
  if (has_theta && !reads_theta && lacks_theta_beside(target) && !target.rotary.layer_type)
    set(target, target.rotary.spec.base, Required<double>(otherwise->theta));
  if (is_of_rope && (has_theta || reads_theta || is_of(target, theta_required)))
    drop_scaling(target);
}

constexpr std::string_view heads_divided =
    "bailing_moe cohere dbrx deepseek gpt_neox granite granitemoe granitemoehybrid helium "
    "internlm2 internlm3 lfm2 lfm2_moe mimo minicpm mixtral nanochat nemotron-nas phi phi3 "
    "phi3small phimoe qwen2 qwen2_5_vl_text qwen2_moe qwen2_vl_text recurrent_gemma stablelm "
    "starcoder2";

std::int64_t integer_at(const Json::Object& keys, std::string_view key) {
  const auto found = keys.find(key);
  return found != keys.end() && found->second.is_integer() ? found->second.integer() : 0;
}

// Replaces head_dim by hidden_size / heads. Most families in Transformers divide only if the config
// lacks head_dim.
bool divide_heads(ConfigEdit& config) {
  const std::int64_t hidden = integer_at(config.keys, "hidden_size");
  const std::int64_t heads = integer_at(config.keys, "num_attention_heads");
  const std::int64_t given = integer_at(config.keys, "head_dim");
  const bool divides_too = given == 0 && !is_of(config, "helium internlm3");
  if (hidden <= 0 || heads <= 0 || divides_too || !is_of(config, heads_divided) ||
      given == hidden / heads)
    return false;
  config.keys.insert_or_assign("head_dim", Json(hidden / heads));
  return true;
}

void choose_theta(RuleTarget& target) {
  const StatedKeys& stated = target.stated;
  const bool is_within = is_of(target, theta_of_parameters) || is_of(target, parameters_read);
  const bool is_read_within = stated.has_parameters && is_within;
  if (!stated.theta_beside || (is_of_parameters(target) && is_within)) return;
  if (target.rotary.layer_type ? !is_of(target, "olmo3") : !stated.theta_within) return;
  const double theta = is_read_within ? *stated.theta_within : *stated.theta_beside;
  set(target, target.rotary.spec.base, Required<double>(theta));
}

constexpr Seen mlx_run{Engine::mlx, Evidence::run, {0, 32}, {0, 32}};

constexpr std::array mlx = {
    rule(Seen{Engine::mlx, Evidence::read, {0, 32}, {0, 32}}, "engine_keys_unread",
         "attn_factor and extrapolation_factor of YaRN, and alpha of dynamic NTK, are not read.",
         "mlx_lm/models/rope_utils.py, initialize_rope", dialects::ignore_engine_keys),
    rule(mlx_run, "rope_theta_required",
         "Files of some families require rope_theta. Most require it beside rope_parameters, "
         "which they do not read.",
         "mlx_lm/models, ModelArgs of exaone4, olmo3, qwen3_moe and others", refuse_absent_theta),
    rule(mlx_run, "rope_scaling_required",
         "Files of EXAONE 4 and GLM-4.5 require the key rope_scaling, which may be null.",
         "mlx_lm/models/exaone4.py and glm4_moe.py, ModelArgs", refuse_absent_scaling),
    rule(mlx_run, "head_dim_divided",
         "Files of some families fail if head_dim is not hidden_size / num_attention_heads.",
         "mlx_lm/models/bitnet.py, cohere2.py and exaone.py", refuse_other_head_dim),
    rule(mlx_run, "rope_parameters_unread",
         "Files of most families do not read rope_parameters: without rope_theta beside it, the "
         "base is the file's default, and nothing is scaled. Some read only its rope_theta.",
         "mlx_lm/models, ModelArgs of each family", forget_parameters),
    rule(mlx_run, "head_dim_unread",
         "Files of some families divide hidden_size by num_attention_heads, and do not read "
         "head_dim.",
         "mlx_lm/models/mixtral.py, phi3.py, granite.py and others", divide_heads),
    rule(mlx_run, "rope_theta_beside",
         "rope_theta beside the dictionary overrides the one inside it, unless the family reads "
         "rope_parameters. In OLMo 3 it overrides that of every layer.",
         "mlx_lm/models, ModelArgs of each family", choose_theta),
    rule(mlx_run, "rope_theta_unread", "RecurrentGemma's base is 10000: rope_theta is not read.",
         "mlx_lm/models/recurrent_gemma.py", forget_theta_of_mlx),
    rule(mlx_run, "default_scaling_unknown",
         "If the config has no rope dictionary, nothing is scaled: the default dictionary of the "
         "configuration class is not known.",
         "mlx_lm/models/apertus.py, gpt_oss.py", dialects::drop_default_scaling),
    rule(mlx_run, "scaling_unread",
         "Files of some families make nn.RoPE from the base only: they read no rope_scaling, or "
         "only one rule of it.",
         "mlx_lm/models/qwen3_moe.py, lfm2.py, cohere.py and others", drop_unread_scaling),
    rule(mlx_run, "whole_head_turns",
         "The entire head rotates: files of most families do not read partial_rotary_factor.",
         "mlx_lm/models/glm.py, llama.py and others", turn_whole_head_of_mlx),
    rule(mlx_run, "yarn_whole_pairs",
         "YaRN's ramp always ends at whole pairs: truncate is not read.",
         "mlx_lm/models/rope_utils.py, YarnRoPE", dialects::round_yarn_ramp),
    rule(mlx_run, "yarn_factor_computed",
         "YaRN's factor on cos and sin follows from mscale (default 1) and mscale_all_dim "
         "(default 0): attention_factor is not read.",
         "mlx_lm/models/rope_utils.py, YarnRoPE", dialects::compute_yarn_factor_of_mscales),
    rule(mlx_run, "longrope_original_required",
         "LongRoPE requires original_max_position_embeddings inside the dictionary. MiniCPM3's "
         "file takes 4096 if it is absent; Phi's file reads it outside the dictionary.",
         "mlx_lm/models/rope_utils.py, initialize_rope; minicpm3.py",
         want_longrope_original_within),
    rule(mlx_run, "longrope_long_list",
         "LongRoPE takes the long list at every length, and computes its factor on cos and sin "
         "from the lengths: short_factor, factor and attention_factor are not read.",
         "mlx_lm/models/rope_utils.py, SuScaledRoPE", take_long_list),
    rule(mlx_run, "longrope_halves",
         "LongRoPE pairs features i and i + d/2, also in families that pair 2i and 2i + 1.",
         "mlx_lm/models/rope_utils.py, SuScaledRoPE", pair_halves),
};

}  // namespace

std::span<const DialectRule> mlx_rules() { return mlx; }

}  // namespace rotary
