// SPDX-License-Identifier: Apache-2.0
// Values override one another as in RotaryEmbeddingConfigMixin of Transformers 5
// (modeling_rope_utils.py), but unknown keys are errors.
#include <set>
#include <string>
#include <utility>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "base/spelling.hpp"
#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "model/json/overrides.hpp"
#include "model/json/reader.hpp"
#include "model/layers/resolve_layers.hpp"
#include "model/model_config.hpp"
#include "model/params_json.hpp"
#include "model/parts.hpp"
#include "model/position_keys.hpp"
#include "model/resolve_json.hpp"
#include "model/rope/resolve_rotary.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {
namespace {

void refuse_unknown_family(PartConfig& config, ModelPart part) {
  if (const auto needs = reason_to_refuse(config.family); !needs.empty()) {
    config.reader.not_supported("model_type must be of a family that a spec describes, got '",
                                config.family, "', which needs ", needs);
    return;
  }
  if (config.family.ends_with("Pipeline")) {
    config.reader.not_supported("the config must be that of a model, got the model_index.json of '",
                                shorten(config.family), "': give transformer/config.json");
    return;
  }
  const std::string got =
      config.family.empty() ? "none" : message("'", shorten(config.family), "'");
  const auto names = family_names();
  const std::string suggestion = did_you_mean(config.family, names);
  const std::string next_step =
      part == ModelPart::vision
          ? " A pairing does not say how the pairs of a tower are dealt to its axes: make a "
            "RotarySpec with axes of your own"
          : message(" If you know which features of this model turn together, state the pairing: ",
                    enumerator_names<Pairing>(), " (in the tool, --pairing half)");
  config.reader.not_supported("model_type must be one of the ", names.size(),
                              " families that `rotary models families` lists; got ", got,
                              suggestion.empty() ? "." : suggestion, next_step);
}

// The family that fits use_mla, a key of DeepSeek-V2's own code: true means latent attention.
const Family* choose_attention(Reader& config, const Family* known) {
  constexpr std::string_view key = "use_mla";
  const auto is_latent = config.boolean(key);
  const bool expected = known != nullptr && known->head.latent;
  if (!is_latent || *is_latent == expected) return known;
  if (!expected || known->model_type != "deepseek_v2") {
    config.not_supported(key, " must be ", expected ? "true" : "false", ", because the family ",
                         known == nullptr ? "is unknown" : known->model_type,
                         known == nullptr ? ""
                         : expected       ? " has latent attention alone"
                                          : " has no latent attention",
                         "; got ", *is_latent ? "true" : "false");
    return known;
  }
  for (const std::string_view width : {"qk_rope_head_dim", "qk_nope_head_dim"}) {
    if (config.integer(width).value_or(0) == 0) continue;
    config.not_supported(width, " must be 0 or absent, because use_mla is false; got ",
                         *config.integer(width));
  }
  return &deepseek_without_latent_attention();
}

// A pairing in the options overrides that of the family and its config.
void override_pairing(const ResolveOptions& options, ModelConfig& config) {
  if (!options.pairing || config.encoding != LayerEncoding::rotary) return;
  note(config.rotary_sources, "pairing", Origin::asked);
  if (*options.pairing == config.pairing) return;
  if (!config.family.model_type.empty()) {
    config.reader.findings().warn("pairing ", to_string(*options.pairing),
                                  " as asked, although the family ", config.family.model_type,
                                  " has ", to_string(config.pairing));
  }
  config.pairing = *options.pairing;
}

void resolve_rotaries(const ModelConfig& config, const ResolveOptions& options, ModelSpec& model) {
  for (const LayerTypeRope& each : config.layout.ropes) {
    auto rotary = resolve_rotary(config, each, options);
    if (!rotary) return;
    model.rotary.push_back(*std::move(rotary));
  }
}

void warn_about_context(const ModelConfig& config, const ResolveOptions& options) {
  if (!options.context_tokens || !config.max_position_embeddings) return;
  if (*options.context_tokens <= *config.max_position_embeddings) return;
  config.reader.findings().warn("a context of ", *options.context_tokens, " tokens is beyond ",
                                config.reader.path(), config.family.keys.positions, ", ",
                                *config.max_position_embeddings);
}

// null means that there is no soft cap.
void resolve_softcap(const ModelConfig& config, ModelSpec& model) {
  constexpr std::string_view key = "attn_logit_softcapping";
  Reader& reader = config.reader;
  if (config.family.softcap == 0 && !config.family.model_type.empty()) return;
  const auto stated = reader.number(key);
  if (!reader.has(key) && config.family.softcap == 0) return;
  note(model.sources, "softcap", stated_if(reader.has(key)), key);
  if (reader.is_null(key)) return;
  model.softcap = stated.value_or(config.family.softcap);
  if (*model.softcap >= 0x1p-64 && *model.softcap <= 0x1p64) return;
  reader.malformed(key, " must be from 2^-64 to 2^64, or null for none, got ", *model.softcap);
}

ModelSpec resolve_config(const Reader& reader, const ResolveOptions& options) {
  ModelSpec model;
  PartConfig language = find_part(reader, options.part);
  if (reader.failed()) return model;
  model.model_type = language.model_type;
  const std::string_view path = language.reader.path();
  model.config_part = path.substr(0, path.size() - (path.empty() ? 0 : 1));
  const Family* known = find_family(language.family);
  const bool may_be_stated = options.pairing && options.part != ModelPart::vision &&
                             reason_to_refuse(language.family).empty();
  if (known == nullptr && !may_be_stated) refuse_unknown_family(language, options.part);
  if (!reader.failed()) known = choose_attention(language.reader, known);
  if (reader.failed()) return model;
  ModelConfig config = read_model_config(
      language.reader, known == nullptr ? unknown_family() : *known, language.sizes);
  override_pairing(options, config);
  if (!model.model_type.empty()) {
    note(config.model_sources, "model_type", language.origin, "model_type");
  }
  model.sources = std::move(config.model_sources);
  if (!reader.failed()) resolve_rotaries(config, options, model);
  if (!reader.failed()) resolve_layers(config, model);
  if (!reader.failed()) resolve_softcap(config, model);
  if (!reader.failed()) check_position_embedding_type(language.reader, config);
  if (!reader.failed() && config.encoding == LayerEncoding::rotary) {
    model.dual_chunk = read_dual_chunk(language.reader);
    if (model.dual_chunk) {
      note(model.sources, "dual_chunk", Origin::stated, "dual_chunk_attention_config");
    }
  }
  if (!reader.failed() && known == nullptr) {
    refuse_other_position_keys(language.reader, *reader.findings().asked);
  }
  warn_about_context(config, options);
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
  if (options.pairing && !is_enumerator(*options.pairing))
    return no_enumerator("pairing", *options.pairing);
  if (!is_enumerator(options.numerics)) return no_enumerator("numerics", options.numerics);
  if (!is_enumerator(options.part)) return no_enumerator("part", options.part);
  return {};
}

// Whether the text ends like a path. JSON text with such an end is a string and begins with a
// quote.
bool looks_like_a_path(std::string_view text) {
  return !text.empty() && text.size() < 4096 && text.front() != '"' &&
         (text.ends_with(".json") || text.ends_with(".gguf") || text.ends_with('/'));
}

}  // namespace

std::string_view to_string(LayerEncoding encoding) noexcept { return name_or_unknown(encoding); }

std::string_view to_string(Origin origin) noexcept { return name_or_unknown(origin); }

std::string_view to_string(ModelPart part) noexcept { return name_or_unknown(part); }

Result<std::vector<PartInfo>> model_parts(std::string_view config_json) noexcept {
  return guarded([&]() -> Result<std::vector<PartInfo>> {
    auto json = parse_config(config_json);
    if (!json) return std::move(json).error();
    Findings findings;
    const Reader reader(*json, "", findings);
    auto parts = list_parts(reader);
    if (findings.failed()) return *std::move(findings.error);
    return parts;
  });
}

Result<ResolvedConfig> resolve_json(const Json& config, const ResolveOptions& options) {
  if (auto status = check_options(options); !status) return std::move(status).error();
  std::set<std::string> asked;
  Findings findings;
  // Checks of overrides and unknown families use the asked keys. An unknown family needs a pairing.
  if (!options.overrides.empty() || options.pairing) findings.asked = &asked;
  const Reader reader(config, "", findings);
  const bool is_params = is_params_json(reader) && options.part == ModelPart::text;
  ModelSpec model =
      is_params ? resolve_params_json(reader, options) : resolve_config(reader, options);
  if (findings.failed()) return *std::move(findings.error);
  if (auto status = check_overrides(options.overrides, asked, findings.warnings); !status) {
    return std::move(status).error();
  }
  model.warnings = std::move(findings.warnings);
  if (auto status = check_temperatures(model); !status) return std::move(status).error();
  return ResolvedConfig{.model = std::move(model), .disputes = std::move(findings.disputes)};
}

Result<ModelRotary> ModelSpec::only_rotary() const noexcept {
  return guarded([&]() -> Result<ModelRotary> {
    if (rotary.size() == 1) return rotary.front();
    if (rotary.empty()) {
      return invalid_argument("this model (", model_type, ") must rotate in some layer, got none");
    }
    std::string types;
    for (const ModelRotary& each : rotary) {
      types += (types.empty() ? "" : ", ") + each.layer_type.value_or("unnamed");
    }
    return invalid_argument("this model (", model_type, ") must have one rotary embedding, got ",
                            rotary.size(), " (", types, "): choose by ModelSpec::layers");
  });
}

Result<ModelSpec> resolve(std::string_view config_json, const ResolveOptions& options) noexcept {
  return guarded([&]() -> Result<ModelSpec> {
    if (looks_like_a_path(config_json)) {
      return malformed_input("config must be JSON text, got what looks like a path (",
                             printable(config_json), "): load_model() reads files");
    }
    auto json = parse_config(config_json);
    if (!json) return std::move(json).error();
    if (auto status = apply_overrides(*json, options.overrides); !status) {
      return std::move(status).error();
    }
    auto resolved = resolve_json(*json, options);
    if (!resolved) return std::move(resolved).error();
    return std::move(resolved->model);
  });
}

}  // namespace rotary
