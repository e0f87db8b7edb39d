// SPDX-License-Identifier: Apache-2.0
// Widths, base and scaling of full or sliding layers, as in llama.cpp:
// llama_model_base::load_hparams in src/llama-model.cpp, load_arch_hparams in src/models/*.cpp, and
// the YaRN factor in src/llama-context.cpp.
#include <cmath>
#include <string>
#include <string_view>

#include "base/spelling.hpp"
#include "base/yarn_growth.hpp"
#include "model/gguf/rotary_of_layers.hpp"

namespace rotary {
namespace {

constexpr std::int64_t widest_head = std::int64_t{1} << 20;

// The width of a head: attention.key_length (or its variant for sliding layers or latent
// attention), else embedding_length / head_count.
Stated<std::int64_t> head_width(const GgufModelFile& file, LayerKind kind) {
  const GgufKeys& keys = file.keys;
  if (kind == LayerKind::sliding) {
    if (auto own = keys.integer("attention.key_length_swa"); own.value) return own;
  }
  if (file.row.is_latent) {
    if (auto own = keys.integer("attention.key_length_mla"); own.value) return own;
  }
  if (auto own = keys.integer("attention.key_length"); own.value) return own;
  const auto width = keys.count("embedding_length");
  const auto heads = keys.one_or_each("attention.head_count", 1);
  if (!heads.value || heads.value->front() < 1) {
    keys.malformed(heads.key, " must be given and >= 1, or ", keys.full("attention.key_length"),
                   " be given, got ", heads.value ? to_text(heads.value->front()) : "none");
    return {};
  }
  return {.value = width.or_else(0) / heads.value->front(),
          .origin = Origin::rule,
          .key = message(width.key, " / ", heads.key)};
}

Stated<std::int64_t> turning_width(const GgufModelFile& file, LayerKind kind, std::int64_t head) {
  const GgufKeys& keys = file.keys;
  auto stated = keys.integer("rope.dimension_count");
  const std::int64_t full =
      stated.or_else(file.row.is_latent ? 0 : head_width(file, LayerKind::full).or_else(0));
  if (file.row.is_whole_head && full != head) {
    keys.malformed(stated.key, " must be the width of a head, ", head, ", because architecture ",
                   file.row.name, " turns whole heads; got ", full);
  }
  if (file.row.is_latent && !stated.value) {
    keys.malformed(stated.key, " must be given, because attention is latent; got none");
  }
  if (kind == LayerKind::sliding) {
    if (auto own = keys.integer("rope.dimension_count_swa"); own.value) return own;
  }
  stated.value = kind == LayerKind::full && file.row.half_on_full ? full / 2 : full;
  return stated;
}

void read_widths(const GgufModelFile& file, LayerKind kind, LayerRope& layer, Sources& sources) {
  const auto stated_head = head_width(file, kind);
  const std::int64_t head = stated_head.or_else(0);
  const auto stated_turning = turning_width(file, kind, head);
  const std::int64_t turning = stated_turning.or_else(0);
  if (file.keys.findings().failed()) return;
  if (head < 2 || head > widest_head || turning < 2 || turning > head || turning % 2 != 0) {
    file.keys.malformed("a head must have 2 to ", widest_head, " features, and of them an even ",
                        "number must turn, at least 2; got ", head, " and ", turning, " (",
                        file.keys.full("attention.key_length"), ", ",
                        file.keys.full("rope.dimension_count"), ")");
    return;
  }
  layer.head_dim = file.row.is_latent ? turning : head;
  layer.rotary_dim = turning;
  layer.nope_head_dim = file.row.is_latent ? head - turning : 0;
  note_key(sources, "head_dim", file.row.is_latent ? stated_turning : stated_head);
  note_key(sources, "rotary_dim", stated_turning);
  if (layer.nope_head_dim != 0) {
    note(sources, "nope_head_dim", Origin::rule,
         message(stated_head.key, " - ", stated_turning.key));
  }
}

// Whether flags change the base and factor of these layers. Flags do not affect sliding layers that
// may have another base: get_rope_freq_base and get_rope_freq_scale in src/llama-model.cpp.
bool follows_flags(const GgufModelFile& file, LayerKind kind) {
  return kind == LayerKind::full || file.row.sliding.base == SlidingBase::ignored;
}

Stated<double> base_of(const GgufModelFile& file, LayerKind kind) {
  const auto full = file.keys.number("rope.freq_base");
  if (!follows_flags(file, kind)) {
    auto own = file.keys.number("rope.freq_base_swa");
    return own.value || file.row.sliding.base != SlidingBase::of_full ? own : full;
  }
  if (!file.flags.base) return full;
  return {.value = file.flags.base,
          .origin = Origin::asked,
          .key = std::string(flag_of(file.flags, "base"))};
}

// rope_yarn_log_mul, divided in float32 as in llama.cpp.
double yarn_multiplier(const GgufModelFile& file) {
  const bool is_mistral3 = file.row.temperature == GgufTemperature::mistral3;
  if (!file.row.has_yarn_multiplier && !is_mistral3) return 0;
  const auto stated =
      static_cast<float>(file.keys.number("rope.scaling.yarn_log_multiplier").or_else(0));
  return is_mistral3 ? double{stated} : double{stated / 0.1F};
}

// YaRN's attention factor as llama.cpp's context computes it, before it is multiplied by
// rope.scaling.attn_factor.
double yarn_factor(const GgufModelFile& file, double factor) {
  const double all = yarn_multiplier(file);
  if (all == 0) return yarn_growth(factor);
  const double one = file.row.name == "deepseek2" && all != 1 ? all : 1;
  return yarn_growth(factor, one) / yarn_growth(factor, all);
}

// Reads YaRN's parameters. For other rope types YaRN is off unless a flag turns it on.
void read_yarn(const GgufModelFile& file, std::string_view type, LayerRope& layer) {
  const GgufKeys& keys = file.keys;
  const LlamaCppFlags& flags = file.flags;
  layer.ext_factor = type == "yarn" ? 1 : 0;
  if (file.row.name == "grok") layer.beta_fast = 8;
  if (file.row.reads_betas) {
    layer.beta_fast = keys.number("rope.scaling.yarn_beta_fast").or_else(layer.beta_fast);
    layer.beta_slow = keys.number("rope.scaling.yarn_beta_slow").or_else(layer.beta_slow);
  }
  if (file.row.name == "grok" && type == "yarn") {
    const double stated = keys.number("rope.scaling.yarn_ext_factor").or_else(-1);
    if (stated >= 0) layer.ext_factor = stated;
  }
  layer.ext_factor = flags.ext_factor.value_or(layer.ext_factor);
  layer.beta_fast = flags.beta_fast.value_or(layer.beta_fast);
  layer.beta_slow = flags.beta_slow.value_or(layer.beta_slow);
}

// 1 / freq_scale. In llama.cpp, a factor of 0 means no scaling.
double scaling_factor_of(const GgufModelFile& file) {
  const auto stated = file.keys.number("rope.scaling.factor");
  const auto old_name = file.keys.number("rope.scale_linear");
  const double factor = stated.value ? *stated.value : old_name.or_else(0);
  if (!std::isfinite(factor) || factor < 0) {
    file.keys.malformed(stated.value ? stated.key : old_name.key, " must be finite and >= 0, got ",
                        factor);
  }
  return factor == 0 ? 1 : factor;
}

std::string scaling_type(const GgufModelFile& file) {
  const auto stated = file.keys.text("rope.scaling.type");
  std::string type = stated.or_else("linear");
  for (const std::string_view known : {"none", "linear", "yarn", "longrope"}) {
    if (type == known) return type;
  }
  file.keys.not_supported(stated.key, " must be none, linear, yarn or longrope, got '",
                          printable(type), "'");
  return "none";
}

std::int64_t trained_original_context(const GgufKeys& keys) {
  return keys.integer("rope.scaling.original_context_length")
      .or_else(keys.integer("context_length").or_else(0));
}

void read_scaling(const GgufModelFile& file, LayerKind kind, LayerRope& layer) {
  const GgufKeys& keys = file.keys;
  const LlamaCppFlags& flags = file.flags;
  const std::string trained_type = scaling_type(file);
  const std::string type = flags.scaling.value_or(trained_type);
  const double trained = trained_type == "none" && !flags.scaling ? 1 : scaling_factor_of(file);
  const double factor = type == "none" ? 1 : flags.factor.value_or(trained);
  const double attention = keys.number("rope.scaling.attn_factor").or_else(1);
  const bool is_sliding = kind == LayerKind::sliding;
  const bool is_plain = is_sliding && file.row.sliding.rule == SlidingRule::plain;
  layer.factor = follows_flags(file, kind) ? factor : trained;
  if (is_sliding && file.row.sliding.rule != SlidingRule::as_full) layer.factor = 1;
  layer.original_context_tokens =
      flags.original_context_tokens.value_or(trained_original_context(keys));
  if (is_plain) return;
  layer.attention_factor = attention;
  if (type == "yarn" || flags.ext_factor) read_yarn(file, type, layer);
  if (layer.ext_factor == 0) {
    layer.attention_factor = attention * flags.attn_factor.value_or(1);
    return;
  }
  // ggml multiplies by grown() of this kind's factor; the context divides by that of full layers.
  const auto grown = [](double scale) { return 1 + 0.1 * std::log(scale); };
  const double wanted = yarn_factor(file, factor) * attention;
  layer.attention_factor =
      layer.factor == factor ? wanted : wanted / grown(factor) * grown(layer.factor);
  if (!file.row.yarn_in_softmax) return;
  const double of_scores = wanted * (1 + 0.1 * yarn_multiplier(file) * std::log(factor));
  layer.softmax_factor = of_scores * of_scores;
  if (std::isfinite(layer.softmax_factor) && layer.softmax_factor > 0) return;
  keys.malformed(keys.full("rope.scaling.factor"), " and yarn_log_multiplier must give a finite ",
                 "factor > 0 of the softmax scale, got ", layer.softmax_factor);
}

}  // namespace

LayerRope read_layer_rope(const GgufModelFile& file, LayerKind kind, Sources& sources) {
  LayerRope layer;
  read_widths(file, kind, layer, sources);
  const auto base = base_of(file, kind);
  layer.base = base.or_else(10000);
  note_key(sources, "base", base);
  read_scaling(file, kind, layer);
  if (file.row.reads_alpha) layer.alpha = file.keys.number("rope.scaling.alpha").or_else(0);
  layer.has_factors = kind == LayerKind::full || !file.row.factors_on_full_only;
  return layer;
}

}  // namespace rotary
