// SPDX-License-Identifier: Apache-2.0
// llama.cpp at 0c1e5709 (2026-10-01, vendored by llama_cpp_python 0.3.36), by the GGUF that its own
// converter makes of the config.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/message.hpp"
#include "model/dialects/rule_target.hpp"
#include "rotary/frequencies.hpp"

namespace rotary {
namespace {

bool is_one_of(std::string_view type, std::span<const std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

// Latent attention with mscale_all_dim: A is 1, whatever mscale says, and the softmax scale has the
// rest. Others: 0.1 ln(factor) + 1.
void compute_yarn_factor(RuleTarget& target) {
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr) return;
  const bool is_latent = target.rotary.nope_head_dim > 0 && yarn->mscale_all_dim.value_or(0) != 0;
  if (!is_latent) return dialects::compute_yarn_attention_factor(target);
  const bool is_one = !yarn->attention_factor && yarn->mscale == yarn->mscale_all_dim;
  if (!is_one) set(target, yarn->attention_factor, std::optional(1.0));
}

void take_usual_betas(RuleTarget& target) {
  constexpr std::array<std::string_view, 4> read_them = {"grok", "grok-1", "mistral3",
                                                         "ministral3"};
  auto* const yarn = rule_of<YarnScaling>(target);
  if (yarn == nullptr || is_one_of(target.model.model_type, read_them)) return;
  set(target, yarn->beta_fast, 32.0);
  set(target, yarn->beta_slow, 1.0);
}

// Pair i of interleaved M-RoPE has axis i % 3 while i < 3 times that axis' section, and otherwise
// the fourth coordinate, which is 0.
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

void refuse_partial(RuleTarget& target) {
  constexpr std::array<std::string_view, 4> whole_heads = {"llama", "mistral", "mixtral", "falcon"};
  const RotarySpec& spec = target.rotary.spec;
  const std::int64_t features = spec.rotary_dim.value_or(spec.head_dim);
  if (!is_one_of(target.model.model_type, whole_heads) || features == spec.head_dim) return;
  target.refusal = message("its architecture must turn whole heads: rope.dimension_count ",
                           features, " is not head_dim ", spec.head_dim);
  target.acted = true;
}

void take_t5_distance(RuleTarget& target) {
  if (!target.model.relative_bias) return;
  auto* const bias = std::get_if<T5Bias>(&*target.model.relative_bias);
  if (bias != nullptr) set(target, bias->buckets.max_distance, std::int64_t{128});
}

constexpr std::array llama_cpp = {
    DialectRule{"yarn_whole_pairs",
                "YaRN's ramp always ends at whole pairs: the file has no key for truncate.",
                "ggml/src/ggml.c, ggml_rope_yarn_corr_dims",
                Evidence::run,
                Engine::llama_cpp,
                {},
                {},
                dialects::round_yarn_ramp},
    DialectRule{"yarn_factor_computed",
                "YaRN's factor on cos and sin is 0.1 ln(factor) + 1, or 1 in latent attention with "
                "mscale_all_dim: the file's yarn_attn_factor is read by grok alone.",
                "src/llama-context.cpp, yarn_attn_factor; conversion/base.py",
                Evidence::run,
                Engine::llama_cpp,
                {},
                {},
                compute_yarn_factor},
    DialectRule{"yarn_usual_betas",
                "YaRN's beta_fast and beta_slow are 32 and 1: the converter writes them, and only "
                "grok and mistral3 read them.",
                "src/models/*.cpp, LLM_KV_ROPE_SCALING_YARN_BETA_FAST; conversion/base.py",
                Evidence::read,
                Engine::llama_cpp,
                {},
                {},
                take_usual_betas},
    DialectRule{"dynamic_dropped",
                "Dynamic NTK scaling is dropped by the converter, without a word.",
                "conversion/base.py, rope_type dynamic",
                Evidence::read,
                Engine::llama_cpp,
                {},
                {},
                dialects::drop_dynamic},
    DialectRule{"longrope_once",
                "LongRoPE's list is chosen once, by the context that is allocated: the long one "
                "for short prompts, too.",
                "src/llama-model.cpp, get_rope_factors",
                Evidence::read,
                Engine::llama_cpp,
                {},
                {},
                dialects::choose_longrope_list_once},
    DialectRule{"longrope_factor_computed",
                "LongRoPE's factor on cos and sin is that of max_position_embeddings / "
                "original_max_position_embeddings: factor and attention_factor are not read.",
                "conversion/phi.py, Phi3MiniModel.generate_extra_tensors",
                Evidence::read,
                Engine::llama_cpp,
                {},
                {},
                dialects::compute_longrope_attention_factor},
    DialectRule{"interleaved_axes_tail",
                "Pairs behind three times the section of their axis take a fourth coordinate, "
                "which is 0, and stand still; in Transformers they take the first.",
                "ggml/src/ggml-cpu/ops.cpp, ggml_mrope_cache_init",
                Evidence::run,
                Engine::llama_cpp,
                {},
                {},
                stop_tail_pairs},
    DialectRule{"partial_refused",
                "A file of these architectures must turn whole heads.",
                "src/llama-model.cpp, n_rot_full",
                Evidence::read,
                Engine::llama_cpp,
                {},
                {},
                refuse_partial},
    DialectRule{"rotary_dim_read",
                "As many features turn as rotary_dim says; Transformers turns whole heads.",
                "conversion/minimax.py, rope_dimension_count",
                Evidence::read,
                Engine::llama_cpp,
                {},
                {},
                dialects::read_rotary_dim},
    DialectRule{"t5_distance",
                "T5's farthest bucket begins at 128 tokens, whatever the config says.",
                "src/llama-graph.cpp, llama_relative_position_bucket",
                Evidence::read,
                Engine::llama_cpp,
                {},
                {},
                take_t5_distance},
};

}  // namespace

std::span<const DialectRule> llama_cpp_rules() { return llama_cpp; }

}  // namespace rotary
