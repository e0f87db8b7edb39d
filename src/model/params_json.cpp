// SPDX-License-Identifier: Apache-2.0
// Sources: meta-llama/llama-models models/llama3/args.py, models/llama4/args.py and model.py;
// meta-llama/llama llama/model.py; mistralai/mistral-inference
// src/mistral_inference/transformer.py; vllm-project/vllm
// vllm/transformers_utils/configs/mistral.py.
#include "model/params_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "base/spelling.hpp"
#include "base/yarn_growth.hpp"
#include "model/json/config_json.hpp"
#include "model/model_config.hpp"
#include "model/rope/rope_keys.hpp"
#include "model/sources.hpp"
#include "model/words.hpp"
#include "rotary/frequencies.hpp"

namespace rotary {
namespace {

bool has_any(const Reader& config, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys,
                             [&](std::string_view key) { return config.find(key) != nullptr; });
}

bool is_meta(const Reader& config) {
  return has_any(config, {"multiple_of", "ffn_dim_multiplier", "ffn_exp", "use_scaled_rope",
                          "nope_layer_interval"});
}

bool is_llama4(const Reader& config) {
  return has_any(config, {"moe_args", "nope_layer_interval", "attention_chunk_size"});
}

void refuse_other_keys(const Reader& object) {
  auto error = object.error_about_others(ErrorCode::unsupported, " is not one of ");
  if (error) object.findings().fail(*std::move(error));
}

// The values read so far.
struct Params {
  Reader reader;
  RotarySpec spec;
  double softmax_factor = 1;
  std::int64_t nope_head_dim = 0;
  std::int64_t layers = 0;
  std::optional<std::int64_t> trained_context_tokens = {};
  Sources sources = {};
};

void read_sizes(Params& params) {
  const std::int64_t dim = params.reader.required_integer("dim");
  const std::int64_t heads = params.reader.required_integer("n_heads");
  params.layers = params.reader.required_integer("n_layers");
  const auto head_dim = params.reader.integer("head_dim");
  if (params.reader.failed()) return;
  if (params.layers < 1 || params.layers > max_layers) {
    params.reader.malformed("n_layers must be in 1..", max_layers, ", got ", params.layers);
  }
  if (!head_dim && (heads < 1 || dim < 1 || dim % heads != 0)) {
    params.reader.malformed("dim must be a positive multiple of n_heads, got ", dim, " and ",
                            heads);
    return;
  }
  params.spec.head_dim = head_dim ? *head_dim : dim / heads;
  note(params.sources, "head_dim", head_dim ? Origin::stated : Origin::rule,
       head_dim ? "head_dim" : "dim / n_heads");
}

// Reads Llama 3's scaling. Meta's code has the factor, the low and high frequency factors and the
// context: 8, 1, 4, 8192 for Llama 3.1, and 16, 1, 1, 8192 for Llama 4 Scout.
void read_meta_scaling(Params& params) {
  const bool llama4 = is_llama4(params.reader);
  const auto factor = params.reader.number("rope_scaling_factor");
  const auto high = params.reader.number("rope_high_freq_factor");
  if (!params.reader.boolean("use_scaled_rope").value_or(false)) {
    if (factor || high) {
      params.reader.malformed(
          "use_scaled_rope must be true for rope_scaling_factor and rope_high_freq_factor to "
          "count, got false");
    }
    return;
  }
  params.spec.scaling = Llama3Scaling{.factor = factor.value_or(llama4 ? 16 : 8),
                                      .low_freq_factor = 1,
                                      .high_freq_factor = high.value_or(llama4 ? 1 : 4),
                                      .original_context_tokens = 8192};
  note(params.sources, "rope_type", Origin::stated, "use_scaled_rope");
  note(params.sources, "factor", stated_if(factor.has_value()), "rope_scaling_factor");
  note(params.sources, "high_freq_factor", stated_if(high.has_value()), "rope_high_freq_factor");
  note(params.sources, "low_freq_factor", Origin::family);
  note(params.sources, "original_max_position_embeddings", Origin::family);
  if (llama4 || factor) return;
  params.reader.warn(
      "use_scaled_rope stands for factor 8, as in Meta's code; the Hugging Face configs of Llama "
      "3.2 1B and 3B say 32, which this file cannot: set rope_scaling_factor for them");
}

void read_meta_base(Params& params) {
  const auto theta = params.reader.number("rope_theta");
  note(params.sources, "base", stated_if(theta.has_value()), "rope_theta");
  if (theta) {
    params.spec.base = *theta;
    return;
  }
  if (is_llama4(params.reader) || has_any(params.reader, {"use_scaled_rope"})) {
    params.spec.base = 500000.0;
    params.reader.warn("rope_theta is absent: 500000, as in Meta's code for Llama 3 and 4");
    return;
  }
  params.reader.warn("rope_theta is absent: 10000, as in Meta's code for Llama 1 and 2");
}

// Llama 4: every nope_layer_interval-th layer has no positions, but may have a query temperature.
void read_nope_layers(Params& params, ModelSpec& model) {
  const auto interval = params.reader.integer("nope_layer_interval");
  const bool tuned = params.reader.boolean("attn_temperature_tuning").value_or(false);
  const double interval_tokens = params.reader.number("floor_scale").value_or(8192);
  const double scale = params.reader.number("attn_scale").value_or(0.1);
  if (interval && *interval < 1) {
    params.reader.malformed("nope_layer_interval must be >= 1, got ", *interval);
  }
  if (!(interval_tokens >= 1) || interval_tokens > 0x1p53 ||
      interval_tokens != std::floor(interval_tokens)) {
    params.reader.malformed("floor_scale must be a whole number of tokens >= 1, got ",
                            interval_tokens);
  }
  if (params.reader.failed() || !interval) return;
  note(model.sources, "layer_types", Origin::stated, "nope_layer_interval");
  if (tuned) {
    const bool is_given =
        has_any(params.reader, {"floor_scale"}) && has_any(params.reader, {"attn_scale"});
    note(model.sources, "query_temperature", stated_if(is_given), "attn_scale, floor_scale");
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if ((i + 1) % static_cast<std::size_t>(*interval) != 0) continue;
    model.layers[i].encoding = LayerEncoding::none;
    if (!tuned) continue;
    model.layers[i].query_temperature = StepTemperature{
        .scale = scale, .interval_tokens = static_cast<std::int64_t>(interval_tokens), .offset = 1};
  }
}

// Reads YaRN under Mistral's names: beta is beta_fast, alpha is beta_slow.
void read_mistral_scaling(Params& params) {
  auto yarn = params.reader.object("yarn");
  if (!yarn) return;
  YarnScaling rule;
  rule.factor = yarn->required_number("factor");
  rule.original_context_tokens = yarn->required_integer("original_max_position_embeddings");
  rule.beta_fast = yarn->number("beta").value_or(rule.beta_fast);
  rule.beta_slow = yarn->number("alpha").value_or(rule.beta_slow);
  note(params.sources, "rope_type", Origin::stated, "yarn");
  note(params.sources, "factor", Origin::stated, "factor");
  note(params.sources, "original_max_position_embeddings", Origin::stated,
       "original_max_position_embeddings");
  note(params.sources, "beta_fast", yarn->find("beta") != nullptr ? Origin::stated : Origin::rule,
       "beta");
  note(params.sources, "beta_slow", yarn->find("alpha") != nullptr ? Origin::stated : Origin::rule,
       "alpha");
  note(params.sources, "ramp", Origin::rule);
  const bool scaled = yarn->boolean("apply_scale").value_or(true);
  refuse_other_keys(*yarn);
  // With latent attention the square of the factor is in the softmax scale instead.
  const bool latent = params.nope_head_dim > 0;
  if (!scaled || latent) {
    rule.attention_factor = 1;
    note(params.sources, "attention_factor", Origin::rule, "apply_scale");
  }
  if (scaled && latent) {
    params.softmax_factor = std::pow(yarn_growth(rule.factor), 2);
    note(params.sources, "softmax_factor", Origin::rule, "factor");
  }
  params.spec.scaling = rule;
}

void read_mistral_latent_attention(Params& params) {
  const auto nope = params.reader.integer("qk_nope_head_dim");
  const auto turning = params.reader.integer("qk_rope_head_dim");
  if (nope.has_value() != turning.has_value()) {
    params.reader.malformed(
        "qk_nope_head_dim and qk_rope_head_dim must be given together, got one of them");
  }
  if (!nope || !turning) return;
  if (*nope < 0) {
    params.reader.malformed("qk_nope_head_dim must be >= 0, got ", *nope);
  }
  params.nope_head_dim = *nope;
  params.spec.head_dim = *turning;
  note(params.sources, "head_dim", Origin::stated, "qk_rope_head_dim");
  note(params.sources, "nope_head_dim", Origin::stated, "qk_nope_head_dim");
}

void read_mistral_temperature(Params& params, ModelSpec& model) {
  auto scaling = params.reader.object("llama_4_scaling");
  if (!scaling) return;
  const StepTemperature rule{
      .scale = scaling->required_number("beta"),
      .interval_tokens = scaling->required_integer("original_max_position_embeddings"),
      .offset = 0};
  refuse_other_keys(*scaling);
  for (ModelLayer& layer : model.layers) layer.query_temperature = rule;
  note(model.sources, "query_temperature", Origin::stated, "llama_4_scaling");
}

void read_mistral_base(Params& params) {
  const auto theta = params.reader.number("rope_theta");
  note(params.sources, "base", Origin::stated, "rope_theta");
  if (theta) {
    params.spec.base = *theta;
    return;
  }
  params.reader.not_supported(
      "rope_theta must be given, because mistral-inference has taken 10000 and, later, 1000000 "
      "when it is not; got none. Mistral 7B v0.1 has 10000: set rope_theta to what your model "
      "has");
}

void read_context(Params& params) {
  for (const std::string_view key : {"max_position_embeddings", "max_seq_len"}) {
    const auto tokens = params.reader.integer(key);
    if (tokens && *tokens < 1) {
      params.reader.malformed(key, " must be >= 1, got ", *tokens);
    }
    if (!tokens || params.trained_context_tokens) continue;
    params.trained_context_tokens = tokens;
    note(params.sources, "trained_context_tokens", Origin::stated, key);
  }
}

// Adds an error for an unknown key about rotary embedding.
void refuse_other_rope_keys(Params& params) {
  constexpr std::array<std::string_view, 4> known = {
      "rope_theta", "use_scaled_rope", "rope_scaling_factor", "rope_high_freq_factor"};
  for (const auto& [key, value] : params.reader.members()) {
    const bool is_known = std::ranges::find(known, key) != known.end();
    if (is_known || key == "qk_rope_head_dim" || value.is_null() || !speaks_of_rope(key)) continue;
    refuse_rope_key(params.reader, key, value, did_you_mean(key, known));
    return;
  }
}

// Adds an error if the file has keys of the other publisher, Meta or Mistral.
void refuse_keys_of_others(Params& params) {
  constexpr std::string_view of_mistral = "yarn llama_4_scaling qk_nope_head_dim qk_rope_head_dim";
  constexpr std::string_view of_meta =
      "rope_scaling_factor rope_high_freq_factor attn_temperature_tuning floor_scale attn_scale";
  const Reader& config = params.reader;
  const bool meta = is_meta(config);
  const auto refuse = [&](std::string_view key) {
    if (config.find(key) == nullptr) return;
    params.reader.not_supported(key, " is not a key of a params.json of ",
                                meta ? "Meta, which this is by its multiple_of or like keys"
                                     : "Mistral, which this is without multiple_of",
                                "; got ", describe(*config.find(key)));
  };
  for_each_word(meta ? of_mistral : of_meta, refuse);
  if (!meta && has_any(config, {"inter_dim"})) refuse("qk_rope_head_dim");  // DeepSeek's own form
}

void finish(const Params& params, const ResolveOptions& options, ModelSpec& model) {
  Findings& findings = params.reader.findings();
  if (findings.failed()) return;
  if (const auto status = validate(params.spec, options.context_tokens); !status) {
    findings.fail(blamed(ErrorCode::malformed_input, "params.json: ", status.error()));
  }
  model.rotary.push_back({.layer_type = {},
                          .spec = params.spec,
                          .softmax_factor = params.softmax_factor,
                          .nope_head_dim = params.nope_head_dim,
                          .trained_context_tokens = params.trained_context_tokens,
                          .sources = params.sources});
}

}  // namespace

bool is_params_json(const Reader& config) {
  const Json* const type = config.find("model_type");
  const bool own_type = type == nullptr || *type == "transformer";
  return own_type && has_any(config, {"dim"}) && has_any(config, {"n_heads"});
}

ModelSpec resolve_params_json(const Reader& config, const ResolveOptions& options) {
  Params params{.reader = config,
                .spec = {.head_dim = 0,
                         .base = 10000.0,
                         .pairing = options.pairing.value_or(Pairing::interleaved),
                         .numerics = options.numerics,
                         .rounding = Rounding::result}};
  if (options.pairing && *options.pairing != Pairing::interleaved) {
    params.reader.warn("pairing ", to_string(*options.pairing),
                       " as asked, although the weights beside a params.json have interleaved");
  }
  note(params.sources, "pairing", options.pairing ? Origin::asked : Origin::family);
  for (const std::string_view value : {"rotary_dim", "sense", "rounding"}) {
    note(params.sources, value, Origin::family);
  }
  note(params.sources, "rope_type", Origin::class_default);
  refuse_other_rope_keys(params);
  refuse_keys_of_others(params);
  read_sizes(params);
  read_context(params);
  ModelSpec model;
  note(model.sources, "encoding", Origin::family);
  note(model.sources, "layers", Origin::stated, "n_layers");
  if (!config.failed()) model.layers.resize(static_cast<std::size_t>(params.layers));
  if (is_meta(config)) {
    read_meta_base(params);
    read_meta_scaling(params);
    read_nope_layers(params, model);
  } else {
    read_mistral_base(params);
    read_mistral_latent_attention(params);
    read_mistral_scaling(params);
    read_mistral_temperature(params, model);
  }
  finish(params, options, model);
  return model;
}

}  // namespace rotary
