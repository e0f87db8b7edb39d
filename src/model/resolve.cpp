// SPDX-License-Identifier: Apache-2.0
// The order of precedence is that of RotaryEmbeddingConfigMixin in Transformers 5
// (modeling_rope_utils.py). Where that warns about or ignores something it does not understand,
// this refuses it.
#include <algorithm>
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "model/json/overrides.hpp"
#include "model/json/spelling.hpp"
#include "model/model_config.hpp"
#include "model/params_json.hpp"
#include "model/resolve_layers.hpp"
#include "model/rope/resolve_rotary.hpp"
#include "model/wrappers.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {
namespace {

Error unknown_family_error(const LanguageConfig& config) {
  const std::string got =
      config.family.empty() ? "none" : message("'", shorten(config.family), "'");
  const auto names = family_names();
  const std::string suggestion = did_you_mean(config.family, names);
  return unsupported(config.object.path, "model_type must be one of the ", names.size(),
                     " families in docs/families.md; got ", got,
                     suggestion.empty() ? "." : suggestion,
                     " State the pairing, half, interleaved or interleaved_to_half "
                     "(ResolveOptions::pairing; in the "
                     "tool --pairing), if you know which features of this model turn together");
}

Result<Family> choose_family(const LanguageConfig& config, const ResolveOptions& options) {
  const Family* const known = find_family(config.family);
  if (known == nullptr) {
    if (options.pairing) return unknown_family(*options.pairing);
    return unknown_family_error(config);
  }
  return *known;
}

// A pairing in the options overrides the family and its config.
void override_pairing(const ResolveOptions& options, ModelConfig& config) {
  Family& family = config.family;
  if (!options.pairing || *options.pairing == family.pairing) return;
  if (config.encoding != LayerEncoding::rotary) return;
  config.warnings.push_back(message("pairing ", to_string(*options.pairing),
                                    " as asked, although the family ", family.model_type, " has ",
                                    to_string(family.pairing)));
  family.pairing = *options.pairing;
}

void append(std::vector<std::string>& warnings, const std::vector<std::string>& more) {
  warnings.insert(warnings.end(), more.begin(), more.end());
}

// One entry for each dictionary of the config: one for all layers, or one for each layer type.
Status resolve_rotaries(const ModelConfig& config, const ResolveOptions& options,
                        ModelSpec& model) {
  for (const LayerTypeRope& each : config.layout.ropes) {
    auto rotary = resolve_rotary(config, each, options, model.warnings);
    if (!rotary) return std::move(rotary).error();
    model.rotary.push_back(*std::move(rotary));
  }
  return {};
}

void warn_about_context(const ModelConfig& config, const ResolveOptions& options,
                        ModelSpec& model) {
  if (!options.context_tokens || !config.max_position_embeddings) return;
  if (*options.context_tokens <= *config.max_position_embeddings) return;
  model.warnings.push_back(message("a context of ", *options.context_tokens, " tokens is beyond ",
                                   config.object.path, config.family.keys.positions, ", ",
                                   *config.max_position_embeddings));
}

// Qwen 1: beyond seq_length its code computes a new base for each length; no rule here does that.
Status check_use_dynamic_ntk(const ModelConfig& config, const ResolveOptions& options) {
  if (config.family.temperature != TemperatureKeys::use_logn_attn) return {};
  const auto dynamic = read_boolean(config.object, "use_dynamic_ntk");
  if (!dynamic) return dynamic.error();
  const auto trained = config.max_position_embeddings;
  if (!dynamic->value_or(false) || !options.context_tokens || !trained) return {};
  if (*options.context_tokens <= *trained) return {};
  return unsupported(config.object.path, "use_dynamic_ntk is supported up to a context of ",
                     config.family.keys.positions, ", ", *trained, "; got ",
                     *options.context_tokens);
}

Result<ModelSpec> resolve_config(const ConfigObject& object, const ResolveOptions& options) {
  ModelSpec model;
  const auto language = find_language_config(object, model.warnings);
  if (!language) return language.error();
  model.model_type = language->model_type;
  auto family = choose_family(*language, options);
  if (!family) return std::move(family).error();
  auto config = read_model_config(language->object, *family);
  if (!config) return std::move(config).error();
  override_pairing(options, *config);
  append(model.warnings, config->warnings);
  if (auto status = resolve_rotaries(*config, options, model); !status)
    return std::move(status).error();
  if (auto status = resolve_layers(*config, model); !status) return std::move(status).error();
  if (auto status = check_use_dynamic_ntk(*config, options); !status) {
    return std::move(status).error();
  }
  warn_about_context(*config, options, model);
  return model;
}

Status check_temperatures(const ModelSpec& model) {
  for (const ModelLayer& layer : model.layers) {
    if (auto status = validate(layer.query_temperature); !status) {
      return blamed(ErrorCode::malformed_input, "config: ", status.error());
    }
  }
  return {};
}

Status check_options(const ResolveOptions& options) {
  if (options.context_tokens && *options.context_tokens < 1) {
    return invalid_argument("context_tokens must be >= 1, got ", *options.context_tokens);
  }
  const auto last = all_pairings.end();
  if (options.pairing && std::find(all_pairings.begin(), last, *options.pairing) == last) {
    return invalid_argument("pairing must be half, interleaved or interleaved_to_half, got value ",
                            static_cast<std::int32_t>(*options.pairing));
  }
  if (to_string(options.numerics) == "unknown") {
    return invalid_argument("numerics must be exact, transformers or ggml, got value ",
                            static_cast<std::int32_t>(options.numerics));
  }
  return {};
}

}  // namespace

Result<ModelSpec> resolve(std::string_view config_json, const ResolveOptions& options) noexcept {
  return guarded([&]() -> Result<ModelSpec> {
    if (auto status = check_options(options); !status) return std::move(status).error();
    auto json = parse_config(config_json);
    if (!json) return std::move(json).error();
    if (auto status = apply_overrides(*json, options.overrides); !status) {
      return std::move(status).error();
    }
    const ConfigObject object{.object = &*json, .path = ""};
    auto model = is_params_json(object) ? resolve_params_json(object, options)
                                        : resolve_config(object, options);
    if (!model) return model;
    if (auto status = check_temperatures(*model); !status) return std::move(status).error();
    return model;
  });
}

}  // namespace rotary
