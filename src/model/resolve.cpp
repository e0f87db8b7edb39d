// SPDX-License-Identifier: Apache-2.0
// The order of precedence is that of RotaryEmbeddingConfigMixin in Transformers 5
// (modeling_rope_utils.py); where it would warn or ignore what it does not understand, this
// refuses.
#include <utility>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "model/config_json.hpp"
#include "model/families.hpp"
#include "model/model_config.hpp"
#include "model/overrides.hpp"
#include "model/params_json.hpp"
#include "model/query_temperature.hpp"
#include "model/rope_parameters.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {
namespace {

struct ChosenFamily {
  Family family;
  std::string model_type;
};

Result<ChosenFamily> choose_family(const ConfigObject& config, const ResolveOptions& options,
                                   std::vector<std::string>& warnings) {
  const auto model_type = read_string(config, "model_type");
  if (!model_type) return model_type.error();
  const std::string name = model_type->value_or("");
  const Family* const known = find_family(name);
  if (known == nullptr) {
    if (options.pairing) return ChosenFamily{unknown_family(*options.pairing), name};
    const std::string got = *model_type ? message("got '", shorten(name), "'") : "got none";
    return unsupported(
        "model_type must be one of ", known_families(), "; ", got,
        ". State the pairing, half or interleaved (ResolveOptions::pairing; in the tool "
        "--pairing), if you know which features of this model turn together");
  }
  Family family = *known;
  if (options.pairing && *options.pairing != family.pairing) {
    warnings.push_back(message("pairing ", to_string(*options.pairing),
                               " as asked, although the family ", name, " has ",
                               to_string(family.pairing)));
    family.pairing = *options.pairing;
  }
  return ChosenFamily{std::move(family), name};
}

// int(head_dim * fraction), as Transformers computes it.
Result<std::optional<std::int64_t>> partial_dimension(double fraction, const ModelConfig& config) {
  const std::string_view key = config.family.fraction_key;
  if (!(fraction > 0) || fraction > 1) {
    return malformed_input(key, " must be in (0, 1], got ", fraction);
  }
  const auto dimension = static_cast<std::int64_t>(static_cast<double>(config.head_dim) * fraction);
  if (fraction < 1 && (dimension < 2 || dimension % 2 != 0)) {
    return malformed_input(key, " of head_dim ", config.head_dim,
                           " must give an even rotary_dim >= 2, got ", fraction, " and so ",
                           dimension);
  }
  return std::optional(dimension);
}

Result<std::optional<std::int64_t>> rotary_dimension(const ModelConfig& config,
                                                     const RopeParameters& rope,
                                                     std::vector<std::string>& warnings) {
  const Family& family = config.family;
  if (rope.partial_rotary_factor_says == PartialRotaryFactor::is_of_the_rule)
    return std::optional<std::int64_t>();  // the whole head
  if (family.partial == PartialRotary::dimension)
    return std::optional(config.rotary_dim.value_or(family.rotary_dim));
  if (config.rotary_dim) return config.rotary_dim;
  // An attribute of this name overwrites the dictionary; any other only fills its gap.
  const bool overwrites = family.fraction_key == "partial_rotary_factor";
  const auto& first = overwrites ? config.partial_rotary_factor : rope.partial_rotary_factor;
  const auto& second = overwrites ? rope.partial_rotary_factor : config.partial_rotary_factor;
  const auto given = first ? first : second;
  if (given && *given != 1 && family.partial == PartialRotary::fraction_if_scaled &&
      std::holds_alternative<NoScaling>(rope.scaling)) {
    warnings.push_back(message("partial_rotary_factor ", *given, " is ignored: the family ",
                               family.model_type,
                               " turns the whole head when rope_type is default"));
    return std::optional<std::int64_t>();
  }
  return partial_dimension(given.value_or(family.fraction), config);
}

Result<double> base_of(const ModelConfig& config, const RopeParameters& rope,
                       std::vector<std::string>& warnings) {
  if (rope.rope_theta && config.rope_theta && *rope.rope_theta != *config.rope_theta) {
    warnings.push_back(message("rope_theta is given twice, ", *rope.rope_theta,
                               " with the rope parameters and ", *config.rope_theta,
                               " beside them; the former is used"));
  }
  if (rope.rope_theta) return *rope.rope_theta;
  if (config.rope_theta) return *config.rope_theta;
  if (config.family.base) return *config.family.base;
  return malformed_input(
      "rope_theta must be given, because no default is known for this model_type; got none");
}

// Any length will do to check a rule; the one in question is the best.
std::int64_t context_to_check(const ModelConfig& config, const ResolveOptions& options) {
  if (options.context_tokens) return *options.context_tokens;
  return config.max_position_embeddings.value_or(1);
}

Result<ModelRotary> resolve_rotary(const ModelConfig& config, const RopeParameters& rope,
                                   const ResolveOptions& options,
                                   std::vector<std::string>& warnings) {
  const auto base = base_of(config, rope, warnings);
  if (!base) return base.error();
  const auto rotary_dim = rotary_dimension(config, rope, warnings);
  if (!rotary_dim) return rotary_dim.error();
  ModelRotary rotary{.layer_type = {},
                     .spec = {.head_dim = config.head_dim,
                              .rotary_dim = *rotary_dim,
                              .first_feature = 0,
                              .base = *base,
                              .pairing = config.family.pairing,
                              .scaling = rope.scaling},
                     .softmax_factor = 1,
                     .trained_context_tokens = config.max_position_embeddings};
  // The rules state their own requirements; here a broken one is the config's fault.
  if (auto frequencies = make_frequencies(rotary.spec, context_to_check(config, options));
      !frequencies) {
    auto error = std::move(frequencies).error();
    if (error.code == ErrorCode::out_of_memory) return error;
    return malformed_input("config: ", error.message);
  }
  return rotary;
}

void append(std::vector<std::string>& warnings, const std::vector<std::string>& more) {
  warnings.insert(warnings.end(), more.begin(), more.end());
}

// One entry for each dictionary of the config: one for all layers, or one for each layer type.
Status resolve_rotaries(const ModelConfig& config, const ResolveOptions& options,
                        ModelSpec& model) {
  for (const LayerTypeRope& each : config.ropes) {
    const auto rope = read_rope_parameters(each.dictionary, each.context);
    if (!rope) return rope.error();
    append(model.warnings, rope->warnings);
    auto rotary = resolve_rotary(config, *rope, options, model.warnings);
    if (!rotary) return std::move(rotary).error();
    rotary->layer_type = each.layer_type;
    model.rotary.push_back(*std::move(rotary));
  }
  return {};
}

std::size_t rotary_of(const ModelSpec& model, std::string_view layer_type) {
  for (std::size_t i = 0; i < model.rotary.size(); ++i) {
    if (model.rotary[i].layer_type == layer_type) return i;
  }
  return 0;
}

void resolve_layers(const ModelConfig& config, ModelSpec& model) {
  if (!config.layers) {
    model.warnings.push_back(
        message(config.family.keys.layers, " is absent, so no layers are listed"));
    return;
  }
  model.layers.resize(static_cast<std::size_t>(*config.layers));
  if (model.rotary.size() < 2 && !model.rotary.front().layer_type) return;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    model.layers[i].rotary = rotary_of(model, config.layer_types[i]);
  }
}

void warn_about_context(const ModelConfig& config, const ResolveOptions& options,
                        ModelSpec& model) {
  if (!options.context_tokens || !config.max_position_embeddings) return;
  if (*options.context_tokens <= *config.max_position_embeddings) return;
  model.warnings.push_back(message("a context of ", *options.context_tokens, " tokens is beyond ",
                                   config.family.keys.positions, ", ",
                                   *config.max_position_embeddings));
}

Result<ModelSpec> resolve_config(const ConfigObject& object, const ResolveOptions& options) {
  ModelSpec model;
  auto chosen = choose_family(object, options, model.warnings);
  if (!chosen) return std::move(chosen).error();
  model.model_type = chosen->model_type;
  auto config = read_model_config(object, chosen->family);
  if (!config) return std::move(config).error();
  append(model.warnings, config->warnings);
  if (auto status = resolve_rotaries(*config, options, model); !status) {
    return std::move(status).error();
  }
  resolve_layers(*config, model);
  warn_about_context(*config, options, model);
  return model;
}

Status check_temperatures(const ModelSpec& model) {
  for (const ModelLayer& layer : model.layers) {
    if (auto status = validate(layer.query_temperature); !status) {
      return malformed_input("config: ", status.error().message);
    }
  }
  return {};
}

}  // namespace

Result<ModelSpec> resolve(std::string_view config_json, const ResolveOptions& options) noexcept {
  return guarded([&]() -> Result<ModelSpec> {
    if (options.context_tokens && *options.context_tokens < 1) {
      return invalid_argument("context_tokens must be >= 1, got ", *options.context_tokens);
    }
    if (options.pairing && *options.pairing != Pairing::half &&
        *options.pairing != Pairing::interleaved) {
      return invalid_argument("pairing must be half or interleaved, got value ",
                              static_cast<std::int32_t>(*options.pairing));
    }
    if (to_string(options.numerics) == "unknown") {
      return invalid_argument("numerics must be exact, transformers or ggml, got value ",
                              static_cast<std::int32_t>(options.numerics));
    }
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
