// SPDX-License-Identifier: Apache-2.0
// The rules of vLLM 0.33.0 and 0.22.1 to 0.29.0, of SGLang 0.5.23, and of the model builder of
// onnxruntime-genai 0.18.0.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "model/dialects/rule_target.hpp"

namespace rotary {
namespace {

constexpr EngineVersion first_vllm = {0, 22};
constexpr EngineVersion last_vllm = {0, 33};
constexpr Seen vllm_read{Engine::vllm, Evidence::read, first_vllm, last_vllm};
constexpr Seen vllm_until_29{Engine::vllm, Evidence::read, first_vllm, {0, 29}};
constexpr Seen vllm_from_30{Engine::vllm, Evidence::read, {0, 30}, last_vllm};
constexpr Seen vllm_run{Engine::vllm, Evidence::run, last_vllm, last_vllm};
constexpr Seen sglang_read{Engine::sglang, Evidence::read};
constexpr Seen sglang_run{Engine::sglang, Evidence::run};
constexpr Seen builder_read{Engine::onnxruntime, Evidence::read, {0, 18}, {0, 18}};
constexpr Seen builder_run{Engine::onnxruntime, Evidence::run, {0, 18}, {0, 18}};

// Sets YaRN's attention factor as vLLM does, except for latent attention (scale_as_deepseek()).
void compute_yarn_factor_of_vllm(RuleTarget& target) {
  if (target.rotary.nope_head_dim == 0) dialects::compute_yarn_attention_factor(target);
}

// Scales as vLLM's DeepseekScalingRotaryEmbedding does.
void scale_as_deepseek(RuleTarget& target) {
  if (target.rotary.nope_head_dim == 0 || dialects::is_of(target, "minicpm3")) return;
  dialects::compute_yarn_factor_of_mscales(target);
  dialects::round_yarn_ramp(target);
}

void compute_yarn_factor_of_gpt_oss(RuleTarget& target) {
  if (target.model.model_type == "gpt_oss") dialects::compute_yarn_attention_factor(target);
}

void drop_scaling_of_dbrx(RuleTarget& target) {
  if (target.model.model_type == "dbrx") dialects::drop_scaling(target);
}

constexpr std::array vllm = {
    rule(vllm_run, "yarn_of_latent_attention",
         "Latent attention has its own class for YaRN: the ramp ends at whole pairs, and the "
         "factor follows only from mscale and mscale_all_dim.",
         "vllm/model_executor/layers/rotary_embedding/deepseek_scaling_rope.py", scale_as_deepseek),
    rule(vllm_run, "yarn_factor_of_gpt_oss",
         "GPT-OSS passes on neither attention_factor nor mscale.",
         "vllm/model_executor/models/gpt_oss.py", compute_yarn_factor_of_gpt_oss),
    rule(vllm_run, "scaling_of_dbrx_unread", "DBRX passes on only rope_theta: nothing is scaled.",
         "vllm/model_executor/models/dbrx.py", drop_scaling_of_dbrx),
    rule(vllm_until_29, "yarn_factor_computed",
         "YaRN's factor on cos and sin is 0.1 ln(factor) + 1: attention_factor and mscale are not "
         "read.",
         "vllm/model_executor/layers/rotary_embedding/yarn_scaling_rope.py",
         compute_yarn_factor_of_vllm),
    rule(vllm_until_29, "attn_factor_read",
         "YaRN's attn_factor multiplies the computed factor on cos and sin.",
         "vllm/model_executor/layers/rotary_embedding/yarn_scaling_rope.py",
         dialects::multiply_by_attn_factor),
    rule(vllm_until_29, "extrapolation_factor_read",
         "YaRN's extrapolation_factor multiplies the weight of frequencies that are not divided.",
         "vllm/model_executor/layers/rotary_embedding/yarn_scaling_rope.py",
         dialects::mix_by_extrapolation_factor),
    rule(vllm_read, "alpha_read",
         "Dynamic NTK with alpha has one base for all lengths, enlarged by alpha.",
         "vllm/model_executor/layers/rotary_embedding/dynamic_ntk_alpha_rope.py",
         dialects::read_alpha),
    rule(vllm_from_30, "yarn_keys_unread",
         "YaRN's attn_factor and extrapolation_factor, which releases up to 0.29 read, are not "
         "passed on.",
         "vllm/model_executor/layers/rotary_embedding/__init__.py", dialects::ignore_engine_keys),
    rule(vllm_read, "dynamic_without_effect",
         "Dynamic NTK's base is computed once, for the trained length, so it is the unscaled "
         "base.",
         "vllm/model_executor/layers/rotary_embedding/dynamic_ntk_scaling_rope.py",
         dialects::drop_dynamic),
    rule(vllm_read, "longrope_once",
         "LongRoPE's list is chosen once, by max_model_len: a long one takes the long list for "
         "short prompts, too.",
         "vllm/model_executor/layers/rotary_embedding/phi3_long_rope_scaled_rope.py",
         dialects::choose_longrope_list_once),
    rule(vllm_read, "longrope_factor_computed",
         "LongRoPE's factor on cos and sin follows from max_position_embeddings / "
         "original_max_position_embeddings: factor and attention_factor are not read.",
         "vllm/model_executor/layers/rotary_embedding/phi3_long_rope_scaled_rope.py",
         dialects::compute_longrope_attention_factor),
    rule(vllm_read, "rotary_dim_read",
         "Only rotary_dim features of a head rotate; Transformers rotates entire heads.",
         "vllm/model_executor/models/minimax_m2.py", dialects::read_rotary_dim),
    rule(vllm_read, "partial_rotary_factor_read",
         "get_rope reads partial_rotary_factor, also for models that rotate entire heads.",
         "vllm/model_executor/layers/rotary_embedding/__init__.py",
         dialects::read_partial_rotary_factor),
};

void drop_yarn_attention_factor(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn != nullptr) set(target, yarn->attention_factor, std::optional<double>());
}

// Computes the base once, for factor times the trained length. This base serves all lengths.
void fix_dynamic_base(RuleTarget& target) {
  const auto* const dynamic = rule_of<DynamicNtkScaling>(target);
  if (dynamic == nullptr) return;
  RotarySpec& spec = target.rotary.spec;
  const double dim = static_cast<double>(spec.rotary_dim.value_or(spec.head_dim));
  const double growth = dynamic->factor * dynamic->factor - (dynamic->factor - 1);
  spec.base = spec.base.get() * std::pow(growth, dim / (dim - 2));
  dialects::drop_scaling(target);
}

constexpr std::array sglang = {
    rule(sglang_read, "yarn_of_latent_attention",
         "Latent attention has its own class for YaRN: the ramp ends at whole pairs, and the "
         "factor follows only from mscale and mscale_all_dim.",
         "sglang/srt/layers/rotary_embedding/rope_variant.py, DeepseekScalingRotaryEmbedding",
         scale_as_deepseek),
    rule(sglang_run, "attention_factor_unread",
         "YaRN's factor on cos and sin follows from mscale and mscale_all_dim, or is 0.1 "
         "ln(factor) + 1: attention_factor is not read.",
         "sglang/srt/layers/rotary_embedding/factory.py and yarn.py", drop_yarn_attention_factor),
    rule(sglang_read, "attn_factor_read",
         "YaRN's attn_factor multiplies the computed factor on cos and sin.",
         "sglang/srt/layers/rotary_embedding/yarn.py", dialects::multiply_by_attn_factor),
    rule(sglang_read, "extrapolation_factor_read",
         "YaRN's extrapolation_factor multiplies the weight of frequencies that are not divided.",
         "sglang/srt/layers/rotary_embedding/yarn.py", dialects::mix_by_extrapolation_factor),
    rule(sglang_read, "alpha_read",
         "Dynamic NTK with alpha has one base for all lengths, enlarged by alpha.",
         "sglang/srt/layers/rotary_embedding/factory.py", dialects::read_alpha),
    rule(sglang_run, "dynamic_base_fixed",
         "Dynamic NTK's base is computed once, for factor times the trained length, and holds at "
         "every length.",
         "sglang/srt/layers/rotary_embedding/rope_variant.py, DynamicNTKScalingRotaryEmbedding",
         fix_dynamic_base),
    rule(sglang_run, "longrope_factor_computed",
         "LongRoPE's factor on cos and sin follows from max_position_embeddings / "
         "original_max_position_embeddings: factor and attention_factor are not read.",
         "sglang/srt/layers/rotary_embedding/rope_variant.py, Phi3LongRoPEScaledRotaryEmbedding",
         dialects::compute_longrope_attention_factor),
};

void refuse_types(RuleTarget& target) {
  if (rule_of<DynamicNtkScaling>(target) != nullptr)
    refuse(target, "the builder has no rope_type dynamic");
}

bool states_betas(const ModelRotary& rotary) {
  return std::ranges::all_of(std::array{"beta_fast", "beta_slow"}, [&](const char* beta) {
    const auto source = std::ranges::find(rotary.sources, beta, &ValueSource::value);
    return source == rotary.sources.end() || source->origin != Origin::rule;
  });
}

void refuse_absent_betas(RuleTarget& target) {
  if (rule_of<YarnScaling>(target) != nullptr && !states_betas(target.rotary))
    refuse(target, "the builder takes an absent beta_fast or beta_slow for 0, and fails");
}

void keep_fractions(RuleTarget& target) {
  if (auto* const yarn = rule_of<YarnScaling>(target))
    set(target, yarn->ramp, YarnRamp::fractional);
}

void compute_yarn_factor_of_builder(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr) return;
  const double mscale = yarn->mscale.value_or(0);
  const bool alone = mscale > 0 && !(yarn->mscale_all_dim.value_or(0) > 0);
  set(target, yarn->attention_factor, alone ? std::optional(mscale) : std::optional<double>());
}

// LlamaModel and its subclasses have their own make_rope_init, without most rules.
void drop_scaling_of_llama(RuleTarget& target) {
  constexpr std::string_view likes_llama = "internlm3 iquestcoder llama nemotron smollm3";
  const bool is_llama3 = rule_of<Llama3Scaling>(target) != nullptr;
  const bool is_hunyuan = target.model.model_type == "hunyuan_v1_dense" &&
                          rule_of<DynamicNtkScaling>(target) == nullptr;
  if (is_hunyuan || (!is_llama3 && dialects::is_of(target, likes_llama)))
    dialects::drop_scaling(target);
}

constexpr std::array onnxruntime = {
    rule(builder_read, "engine_keys_unread",
         "attn_factor and extrapolation_factor of YaRN, and alpha of dynamic NTK, are not read.",
         "onnxruntime_genai/models/builders/base.py, make_rope_init", dialects::ignore_engine_keys),
    rule(builder_run, "scaling_unread",
         "Models of the builder's LlamaModel apply only the rule llama3, HunYuan only alpha; no "
         "other rope_type is read.",
         "onnxruntime_genai/models/builders/llama.py and hunyuan.py, make_rope_init",
         drop_scaling_of_llama),
    rule(builder_run, "partial_rotary_factor_read",
         "The builder reads partial_rotary_factor, also for models that rotate entire heads.",
         "onnxruntime_genai/models/builders/base.py, Model.__init__",
         dialects::read_partial_rotary_factor),
    rule(builder_read, "dynamic_refused", "The builder has no rope_type dynamic.",
         "onnxruntime_genai/models/builders/base.py, make_rope_init", refuse_types),
    rule(builder_run, "yarn_betas_required",
         "YaRN's beta_fast and beta_slow must be in the config: the builder takes absent values "
         "as 0.",
         "onnxruntime_genai/models/builders/base.py, make_rope_init", refuse_absent_betas),
    rule(builder_run, "yarn_fractional",
         "YaRN's ramp is never rounded to whole pairs: truncate is not read, and taken as false.",
         "onnxruntime_genai/models/builders/base.py, make_inv_freq_rescaled_with_ntk",
         keep_fractions),
    rule(builder_run, "yarn_factor_computed",
         "YaRN's factor on cos and sin is 0.1 ln(factor) + 1, or follows from mscale and "
         "mscale_all_dim, or is mscale if mscale_all_dim is absent: attention_factor is not read.",
         "onnxruntime_genai/models/builders/base.py, make_mscale", compute_yarn_factor_of_builder),
};

}  // namespace

std::span<const DialectRule> vllm_rules() { return vllm; }
std::span<const DialectRule> onnxruntime_rules() { return onnxruntime; }
std::span<const DialectRule> sglang_rules() { return sglang; }

}  // namespace rotary
