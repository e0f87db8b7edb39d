// SPDX-License-Identifier: Apache-2.0
// vLLM at 4ff865c3 (2026-05-29), mlx-lm 0.32.2 and the model builder of onnxruntime-genai 0.18.0.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/message.hpp"
#include "model/dialects/rule_target.hpp"

namespace rotary {
namespace {

// Latent attention has a class of its own in vLLM, which reads mscale as Transformers does.
void compute_yarn_factor_of_vllm(RuleTarget& target) {
  if (target.rotary.nope_head_dim == 0) dialects::compute_yarn_attention_factor(target);
}

constexpr std::array vllm = {
    DialectRule{"yarn_factor_computed",
                "YaRN's factor on cos and sin is 0.1 ln(factor) + 1, times attn_factor, a key of "
                "its own: attention_factor and mscale are not read.",
                "vllm/model_executor/layers/rotary_embedding/yarn_scaling_rope.py",
                Evidence::read,
                Engine::vllm,
                {},
                {},
                compute_yarn_factor_of_vllm},
    DialectRule{"dynamic_without_effect",
                "Dynamic NTK's base is computed once for the trained length, where it is the "
                "plain one.",
                "vllm/model_executor/layers/rotary_embedding/dynamic_ntk_scaling_rope.py",
                Evidence::read,
                Engine::vllm,
                {},
                {},
                dialects::drop_dynamic},
    DialectRule{"longrope_once",
                "LongRoPE's list is chosen once, by max_model_len: the long one for short "
                "prompts, too.",
                "vllm/model_executor/layers/rotary_embedding/phi3_long_rope_scaled_rope.py",
                Evidence::read,
                Engine::vllm,
                {},
                {},
                dialects::choose_longrope_list_once},
    DialectRule{"longrope_factor_computed",
                "LongRoPE's factor on cos and sin is that of max_position_embeddings / "
                "original_max_position_embeddings: factor and attention_factor are not read.",
                "vllm/model_executor/layers/rotary_embedding/phi3_long_rope_scaled_rope.py",
                Evidence::read,
                Engine::vllm,
                {},
                {},
                dialects::compute_longrope_attention_factor},
    DialectRule{"partial_rotary_factor_read",
                "get_rope reads partial_rotary_factor, also for models that turn whole heads.",
                "vllm/model_executor/layers/rotary_embedding/__init__.py",
                Evidence::read,
                Engine::vllm,
                {},
                {},
                dialects::read_partial_rotary_factor},
};

double yarn_scale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

// mscale is 1 and mscale_all_dim 0 where the config has none; each acts without the other.
void compute_yarn_factor_of_mlx(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr) return;
  const double mscale = yarn->mscale.value_or(1);
  const double all = yarn->mscale_all_dim.value_or(0);
  const bool is_usual = (!yarn->mscale && !yarn->mscale_all_dim) || (mscale != 0 && all != 0);
  std::optional<double> factor;
  if (!is_usual) factor = yarn_scale(yarn->factor, mscale) / yarn_scale(yarn->factor, all);
  set(target, yarn->attention_factor, factor);
}

// long_mscale is not passed on.
void take_long_list(RuleTarget& target) {
  dialects::compute_longrope_attention_factor(target);
  auto* const longrope = rule_of<LongRopeScaling>(target);
  if (longrope == nullptr) return;
  set(target, longrope->attention_factor, std::optional<double>());
  set(target, longrope->long_mscale, std::optional<double>());
  set(target, longrope->lists, LongRopeSwitch::always_long);
}

constexpr std::array mlx = {
    DialectRule{"yarn_whole_pairs",
                "YaRN's ramp always ends at whole pairs: truncate is not read.",
                "mlx_lm/models/rope_utils.py, YarnRoPE",
                Evidence::run,
                Engine::mlx,
                {},
                {},
                dialects::round_yarn_ramp},
    DialectRule{"yarn_factor_computed",
                "YaRN's factor on cos and sin follows from mscale, 1 where it is not given, and "
                "mscale_all_dim, 0 where it is not: attention_factor is not read.",
                "mlx_lm/models/rope_utils.py, YarnRoPE",
                Evidence::run,
                Engine::mlx,
                {},
                {},
                compute_yarn_factor_of_mlx},
    DialectRule{"longrope_long_list",
                "LongRoPE takes the long list at every length, and computes its factor on cos and "
                "sin from the lengths: short_factor, factor and attention_factor are not read.",
                "mlx_lm/models/rope_utils.py, SuScaledRoPE",
                Evidence::run,
                Engine::mlx,
                {},
                {},
                take_long_list},
};

void refuse_types(RuleTarget& target) {
  if (rule_of<DynamicNtkScaling>(target) == nullptr) return;
  target.refusal = "the builder has no rope_type dynamic";
  target.acted = true;
}

bool states_betas(const ModelRotary& rotary) {
  return std::ranges::all_of(std::array{"beta_fast", "beta_slow"}, [&](const char* beta) {
    const auto source = std::ranges::find(rotary.sources, beta, &ValueSource::value);
    return source == rotary.sources.end() || source->origin == Origin::stated;
  });
}

void refuse_absent_betas(RuleTarget& target) {
  if (rule_of<YarnScaling>(target) == nullptr || states_betas(target.rotary)) return;
  target.refusal = "the builder takes an absent beta_fast or beta_slow for 0, and fails";
  target.acted = true;
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

constexpr std::array onnxruntime = {
    DialectRule{"dynamic_refused",
                "The builder has no rope_type dynamic.",
                "onnxruntime_genai/models/builders/base.py, make_rope_init",
                Evidence::read,
                Engine::onnxruntime,
                {},
                {},
                refuse_types},
    DialectRule{"yarn_betas_required",
                "YaRN's beta_fast and beta_slow must be in the config: the builder takes 0 for "
                "them otherwise.",
                "onnxruntime_genai/models/builders/base.py, make_rope_init",
                Evidence::run,
                Engine::onnxruntime,
                {},
                {},
                refuse_absent_betas},
    DialectRule{"yarn_fractional",
                "YaRN's ramp never ends at whole pairs: truncate is not read, and taken as false.",
                "onnxruntime_genai/models/builders/base.py, make_inv_freq_rescaled_with_ntk",
                Evidence::run,
                Engine::onnxruntime,
                {},
                {},
                keep_fractions},
    DialectRule{"yarn_factor_computed",
                "YaRN's factor on cos and sin is 0.1 ln(factor) + 1, or that of mscale and "
                "mscale_all_dim, or mscale itself where it stands alone: attention_factor is not "
                "read.",
                "onnxruntime_genai/models/builders/base.py, make_mscale",
                Evidence::run,
                Engine::onnxruntime,
                {},
                {},
                compute_yarn_factor_of_builder},
};

}  // namespace

std::span<const DialectRule> vllm_rules() { return vllm; }
std::span<const DialectRule> mlx_rules() { return mlx; }
std::span<const DialectRule> onnxruntime_rules() { return onnxruntime; }

}  // namespace rotary
