// SPDX-License-Identifier: Apache-2.0
// The rules of llama.cpp at 0c1e5709 (2026-10-01, vendored by llama_cpp_python 0.3.36), for a GGUF
// file that llama.cpp's converter wrote.
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/dialects/rule_target.hpp"
#include "rotary/frequencies.hpp"

namespace rotary {
namespace {

using dialects::is_of;

// Families whose class in the converter writes more or fewer keys than most classes.
constexpr std::string_view scaling_unwritten =
    "RefinedWeb RefinedWebModel bitnet cohere cohere2 dbrx deepseek eurobert exaone_moe falcon "
    "gemma gemma2 gpt_neox mellum minicpm3 neobert orion";
constexpr std::string_view llama3_written =
    "afmoe apertus arcee exaone exaone4 exaone_moe granite granite_swa granitemoe "
    "granitemoe_swa granitemoeshared internlm3 iquestcoder llama llama4_text ministral3 "
    "mistral mixtral nanbeige nemotron-nas smollm3 step3p5";
constexpr std::string_view longrope_written = "minicpm minicpm3 phi3 phimoe";
constexpr std::string_view theta_unwritten =
    "RefinedWeb RefinedWebModel falcon gemma gemma2 glm gpt_neox minicpm3 neobert orion";
constexpr std::string_view part_unwritten =
    "RefinedWeb RefinedWebModel afmoe apertus arcee bailing_moe bitnet chameleon cohere cohere2 "
    "dbrx deepseek dots1 "
    "dots_ocr ernie4_5 ernie4_5_moe eurobert exaone_moe falcon gemma gemma2 gpt_oss granite "
    "granite_swa granitemoe granitemoe_swa granitemoeshared hunyuan_v1_dense hunyuan_vl_text "
    "hy_v3 internlm2 internlm3 iquestcoder jais2 lfm2 lfm2_moe llama llama4_text minicpm "
    "mistral mixtral olmo olmo2 olmo3 olmoe orion qwen2 qwen2_moe qwen3 qwen3_moe seed_oss "
    "smollm3 starcoder2 xverse";

void drop_unwritten_scaling(RuleTarget& target) {
  const Scaling& scaling = target.rotary.spec.scaling;
  const bool is_longrope = std::holds_alternative<LongRopeScaling>(scaling);
  const bool is_llama3 = std::holds_alternative<Llama3Scaling>(scaling);
  const bool is_phi = target.model.model_type == "phi3" || target.model.model_type == "phimoe";
  const bool is_dropped = (is_longrope && !is_of(target, longrope_written)) ||
                          (is_llama3 && !is_of(target, llama3_written)) ||
                          (!is_longrope && !is_llama3 && is_of(target, scaling_unwritten)) ||
                          (std::holds_alternative<LinearScaling>(scaling) && is_phi);
  if (is_dropped) dialects::drop_scaling(target);
}

void take_theta_of_parameters(RuleTarget& target) {
  const StatedKeys& stated = target.stated;
  if (stated.has_scaling && stated.has_parameters && stated.theta_within && !is_of(target, "dbrx"))
    set(target, target.rotary.spec.base, Required<double>(*stated.theta_within));
}

void take_base_of_full_layers(RuleTarget& target) {
  if (!is_of(target, "mellum olmo3") || target.rotary.layer_type != "sliding_attention") return;
  for (const ModelRotary& each : target.model.rotary)
    if (each.layer_type == "full_attention") set(target, target.rotary.spec.base, each.spec.base);
}

void forget_theta(RuleTarget& target) {
  if (is_of(target, theta_unwritten))
    set(target, target.rotary.spec.base, Required<double>(10000.0));
}

// YaRN's attention factor A is 0.1 ln(factor) + 1. But A is 1 for latent attention with
// mscale_all_dim, whatever mscale says: the softmax scale changes instead.
void compute_yarn_factor(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr) return;
  const bool is_latent = target.rotary.nope_head_dim > 0 && yarn->mscale_all_dim.value_or(0) != 0;
  if (!is_latent) return dialects::compute_yarn_attention_factor(target);
  const bool is_one = !yarn->attention_factor && yarn->mscale == yarn->mscale_all_dim;
  if (!is_one) set(target, yarn->attention_factor, std::optional(1.0));
}

void take_usual_betas(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr || is_of(target, "grok grok-1 mistral3 ministral3")) return;
  set(target, yarn->beta_fast, 32.0);
  set(target, yarn->beta_slow, 1.0);
}

// Pair i of interleaved M-RoPE has axis i % 3 if i < 3 times the section of that axis. Other pairs
// rotate by the fourth coordinate, which is 0, so they stand still.
void stop_tail_pairs(RuleTarget& target) {
  RotarySpec& spec = target.rotary.spec;
  const bool is_interleaved = spec.axes && spec.axes->pairs.size() == 3 &&
                              spec.axes->arrangement == AxisArrangement::interleaved &&
                              std::holds_alternative<NoScaling>(spec.scaling);
  if (!is_interleaved) return;
  const auto frequencies = make_frequencies(spec);
  if (!frequencies) return;
  std::vector<double> inv_freq = frequencies->inv_freq;
  bool stopped = false;
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const auto section = static_cast<std::size_t>(spec.axes->pairs[i % 3]);
    if (i < 3 * section) continue;
    inv_freq[i] = 0;
    stopped = true;
  }
  if (!stopped) return;
  spec.scaling = ExplicitScaling{.inv_freq = std::move(inv_freq),
                                 .attention_factor = frequencies->attention_factor};
  target.acted = true;
}

void turn_whole_head(RuleTarget& target) {
  RotarySpec& spec = target.rotary.spec;
  if (spec.rotary_dim.value_or(spec.head_dim) != spec.head_dim && is_of(target, part_unwritten))
    set(target, spec.rotary_dim, std::optional(spec.head_dim));
}

void take_t5_distance(RuleTarget& target) {
  if (!target.model.relative_bias) return;
  auto* const bias = std::get_if<T5Bias>(&*target.model.relative_bias);
  if (bias != nullptr) set(target, bias->buckets.max_distance, std::int64_t{128});
}

constexpr Seen llama_read{Engine::llama_cpp, Evidence::read};
constexpr Seen llama_run{Engine::llama_cpp, Evidence::run};

constexpr std::array llama_cpp = {
    rule(llama_read, "engine_keys_unread",
         "Only grok reads YaRN's attn_factor and extrapolation_factor, which the converter "
         "writes; only HunYuan reads alpha of dynamic NTK.",
         "conversion/base.py; src/models/grok.cpp", dialects::ignore_engine_keys),
    rule(llama_read, "default_scaling_unknown",
         "If the config has no rope dictionary, nothing is scaled: the default dictionary of the "
         "configuration class is not known.",
         "conversion/base.py, TextModel.__init__", dialects::drop_default_scaling),
    rule(llama_read, "scaling_unwritten",
         "The converter's classes of some families write no scaling, or only some rules: llama3 is "
         "written only for relatives of Llama, LongRoPE only for Phi and MiniCPM.",
         "conversion/*.py, set_gguf_parameters and generate_extra_tensors", drop_unwritten_scaling),
    rule(llama_read, "rope_theta_of_parameters",
         "If the config has rope_scaling and rope_parameters, the base is that of "
         "rope_parameters.",
         "conversion/base.py, TextModel.__init__", take_theta_of_parameters),
    rule(llama_read, "sliding_base_of_full_layers",
         "Sliding layers have the same base as full layers.",
         "src/models/olmo2.cpp, mellum.cpp: rope_freq_base_train_swa", take_base_of_full_layers),
    rule(llama_read, "rope_theta_unwritten",
         "The base is 10000: the converter's classes of these families do not write rope_theta.",
         "conversion/gemma.py, falcon.py, orion.py and others", forget_theta),
    rule(llama_run, "yarn_whole_pairs",
         "YaRN's ramp always ends at whole pairs: the file has no key for truncate.",
         "ggml/src/ggml.c, ggml_rope_yarn_corr_dims", dialects::round_yarn_ramp),
    rule(llama_run, "yarn_factor_computed",
         "YaRN's factor on cos and sin is 0.1 ln(factor) + 1, or 1 in latent attention with "
         "mscale_all_dim: only grok reads the file's yarn_attn_factor.",
         "src/llama-context.cpp, yarn_attn_factor; conversion/base.py", compute_yarn_factor),
    rule(llama_read, "yarn_usual_betas",
         "YaRN's beta_fast and beta_slow are 32 and 1: the converter writes them, and only grok "
         "and mistral3 read them.",
         "src/models/*.cpp, LLM_KV_ROPE_SCALING_YARN_BETA_FAST; conversion/base.py",
         take_usual_betas),
    rule(llama_read, "dynamic_dropped",
         "The converter drops dynamic NTK scaling without a warning.",
         "conversion/base.py, rope_type dynamic", dialects::drop_dynamic),
    rule(llama_read, "longrope_once",
         "LongRoPE's list is chosen once, by the allocated context: a long context takes the long "
         "list for short prompts, too.",
         "src/llama-model.cpp, get_rope_factors", dialects::choose_longrope_list_once),
    rule(llama_read, "longrope_factor_computed",
         "LongRoPE's factor on cos and sin follows from max_position_embeddings / "
         "original_max_position_embeddings: factor and attention_factor are not read.",
         "conversion/phi.py, Phi3MiniModel.generate_extra_tensors",
         dialects::compute_longrope_attention_factor),
    rule(llama_run, "interleaved_axes_tail",
         "Pairs from three times the section of their axis on take a fourth coordinate, which is "
         "0, so they do not rotate. In Transformers they take the first coordinate.",
         "ggml/src/ggml-cpu/ops.cpp, ggml_mrope_cache_init", stop_tail_pairs),
    rule(llama_read, "whole_head_turns",
         "The entire head rotates: the converter's classes of these families do not read "
         "partial_rotary_factor.",
         "conversion/llama.py, qwen.py and others, add_rope_dimension_count", turn_whole_head),
    rule(llama_read, "rotary_dim_read",
         "Only rotary_dim features of a head rotate; Transformers rotates entire heads.",
         "conversion/minimax.py, rope_dimension_count", dialects::read_rotary_dim),
    rule(llama_read, "t5_distance",
         "T5's farthest bucket begins at 128 tokens, whatever the config says.",
         "src/llama-graph.cpp, llama_relative_position_bucket", take_t5_distance),
};

}  // namespace

std::span<const DialectRule> llama_cpp_rules() { return llama_cpp; }

}  // namespace rotary
