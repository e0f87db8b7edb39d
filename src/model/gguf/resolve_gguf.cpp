// SPDX-License-Identifier: Apache-2.0
// Makes a ModelSpec from the keys of a GGUF file, as llama.cpp reads them.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/enumerators.hpp"
#include "base/guard.hpp"
#include "base/spelling.hpp"
#include "model/gguf/architectures.hpp"
#include "model/gguf/flags.hpp"
#include "model/gguf/keys.hpp"
#include "model/gguf/layers.hpp"
#include "model/gguf/rotary_of_layers.hpp"
#include "model/gguf/unstated.hpp"
#include "model/json/overrides.hpp"
#include "rotary/gguf.hpp"

namespace rotary {
namespace {

constexpr std::string_view architecture_key = "general.architecture";
constexpr std::string_view commit = "0c1e5709";

// Refuses split files other than the first, because only the first has the model's keys.
Status check_split(const GgufMetadata& metadata) {
  const GgufKey* const number = find_gguf_key(metadata, "split.no");
  const GgufKey* const count = find_gguf_key(metadata, "split.count");
  const auto* const at = number == nullptr ? nullptr : std::get_if<std::int64_t>(&number->value);
  const auto* const of = count == nullptr ? nullptr : std::get_if<std::int64_t>(&count->value);
  if (at == nullptr || *at == 0) return {};
  std::string digits = of == nullptr ? std::string("?????") : std::to_string(*of);
  if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
  return unsupported("GGUF: the file must be the first of those that a model is split into, ",
                     "whose name ends in -00001-of-", digits, ".gguf, got split.no ", *at);
}

Result<GgufArchitecture> find_row(const GgufMetadata& metadata) {
  const GgufKey* const key = find_gguf_key(metadata, architecture_key);
  const auto* const name = key == nullptr ? nullptr : std::get_if<std::string>(&key->value);
  if (name == nullptr) {
    return malformed_input("GGUF: ", architecture_key, " must be given as a string, got ",
                           key == nullptr ? "none" : to_string(key->type));
  }
  const auto row = find_gguf_architecture(*name);
  if (!row) {
    const auto names = gguf_architecture_names();
    return unsupported("GGUF: ", architecture_key, " must be one of the ", names.size(),
                       " that llama.cpp has at ", commit, ", got '", printable(*name), "'",
                       did_you_mean(*name, names), "; give the config.json of the model instead");
  }
  if (row->refusal.empty()) return *row;
  return unsupported("GGUF: ", architecture_key,
                     " must be one whose positions a spec describes, got '", row->name,
                     "': ", row->refusal);
}

// The model's ALiBi. ggml's bias is -slope * |distance|.
std::optional<RelativeBias> alibi_of(const GgufModelFile& file, std::int64_t heads,
                                     Sources& sources) {
  constexpr double usual = 8;
  const auto stated = file.keys.number("attention.max_alibi_bias");
  const bool is_constant = file.row.name != "mpt" && file.row.name != "jais";
  const double most = is_constant ? usual : stated.or_else(0);
  if (most == 0) return {};
  note(sources, "bias_max", is_constant ? Origin::family : stated.origin,
       is_constant ? std::string_view() : std::string_view(stated.key));
  const bool is_causal = file.keys.boolean("attention.causal").or_else(true);
  const Alibi bias{.heads = heads,
                   .bias_max = most,
                   .form = is_causal ? AlibiForm::causal : AlibiForm::symmetric};
  const auto slopes = alibi_slopes(bias);
  if (slopes) return bias;
  file.keys.findings().fail(blamed(ErrorCode::malformed_input, "GGUF: ", slopes.error()));
  return {};
}

std::optional<RelativeBias> t5_of(const GgufModelFile& file, std::int64_t heads, Sources& sources) {
  const auto rows = file.keys.count("attention.relative_buckets_count");
  if (!rows.value || file.keys.findings().failed()) return {};
  note(sources, "buckets", rows.origin, rows.key);
  note(sources, "max_distance", Origin::family);
  const T5Buckets buckets{.buckets = *rows.value,
                          .max_distance = 128,
                          .direction = T5Direction::bidirectional,
                          .rounding = T5Rounding::ggml};
  if (const auto first = t5_bucket(0, buckets); !first) {
    file.keys.findings().fail(
        blamed(ErrorCode::malformed_input, message("GGUF: ", rows.key, ": "), first.error()));
    return {};
  }
  return T5Bias{.buckets = buckets,
                .table = {.rows = *rows.value, .features = heads, .row_stride = heads}};
}

void resolve_bias(const GgufModelFile& file, ModelSpec& model) {
  if (file.row.encoding != LayerEncoding::alibi && file.row.encoding != LayerEncoding::t5_bias) {
    return;
  }
  const auto heads = file.keys.one_or_each("attention.head_count", 1);
  if (!heads.value || heads.value->front() < 1) {
    return file.keys.malformed(heads.key, " must be given and >= 1, got ",
                               heads.value ? to_text(heads.value->front()) : "none");
  }
  note(model.sources, "heads", heads.origin, heads.key);
  model.relative_bias = file.row.encoding == LayerEncoding::alibi
                            ? alibi_of(file, heads.value->front(), model.sources)
                            : t5_of(file, heads.value->front(), model.sources);
}

// The encoding of layers without a rope operation, such as ALiBi of Baichuan 13B.
LayerEncoding encoding_without_rope(const GgufModelFile& file, ModelSpec& model) {
  resolve_bias(file, model);
  if (file.row.encoding != LayerEncoding::alibi || model.relative_bias) return file.row.encoding;
  // MPT without ALiBi has learned positions, Jais none.
  return file.row.name == "mpt" ? LayerEncoding::learned : LayerEncoding::none;
}

QueryTemperature temperature_of(const GgufModelFile& file, bool rotates, Sources& sources) {
  const GgufKeys& keys = file.keys;
  switch (file.row.temperature) {
    case GgufTemperature::none:
      return NoTemperature{};
    case GgufTemperature::llama4:
      if (rotates || keys.integer("attention.sliding_window").or_else(1) == 0) {
        return NoTemperature{};
      }
      note(sources, "query_temperature", Origin::family);
      return StepTemperature{.scale = 0.1, .interval_tokens = 8192, .offset = 1};
    case GgufTemperature::mistral3:
    case GgufTemperature::keys:
      break;
  }
  const auto scale = keys.number("attention.temperature_scale");
  const auto length = keys.integer(file.row.temperature == GgufTemperature::keys
                                       ? "attention.temperature_length"
                                       : "rope.scaling.original_context_length");
  if (scale.or_else(0) == 0) return NoTemperature{};
  note(sources, "query_temperature", scale.origin, scale.key);
  const std::int64_t otherwise = file.row.temperature == GgufTemperature::mistral3
                                     ? keys.integer("context_length").or_else(0)
                                     : 0;
  return StepTemperature{
      .scale = *scale.value, .interval_tokens = length.or_else(otherwise), .offset = 0};
}

void fill_layers(const GgufModelFile& file, const GgufLayers& layers, LayerEncoding otherwise,
                 ModelSpec& model) {
  const bool has_rope = otherwise == LayerEncoding::rotary;
  const bool differ = model.rotary.size() > 1;
  std::array<std::optional<QueryTemperature>, 2> temperatures;  // [1]: of layers that rotate
  for (const GgufLayer& each : layers.each) {
    ModelLayer layer{.encoding = otherwise};
    if (!each.attends || file.row.recurrent == Recurrent::all) {
      layer.encoding = LayerEncoding::no_attention;
    } else if (has_rope) {
      layer.encoding = each.rotates ? LayerEncoding::rotary : LayerEncoding::none;
      layer.rotary = each.rotates && each.slides && differ ? 1 : 0;
      auto& temperature = temperatures[each.rotates ? 1 : 0];
      if (!temperature) temperature = temperature_of(file, each.rotates, model.sources);
      layer.query_temperature = *temperature;
    }
    if (const auto status = validate(layer.query_temperature); !status) {
      return file.keys.findings().fail(
          blamed(ErrorCode::malformed_input, "GGUF: ", status.error()));
    }
    model.layers.push_back(layer);
  }
}

// Adds the rotary embedding of full layers, then that of sliding layers if it differs.
void resolve_rotaries(const GgufModelFile& file, const GgufLayers& layers, ModelSpec& model) {
  const auto has = [&](bool slides) {
    return std::ranges::any_of(layers.each, [&](const GgufLayer& each) {
      return each.attends && each.rotates && each.slides == slides;
    });
  };
  std::optional<LayerRope> full;
  std::optional<LayerRope> sliding;
  Sources of_full;
  Sources of_sliding;
  if (has(false)) full = read_layer_rope(file, LayerKind::full, of_full);
  if (has(true)) sliding = read_layer_rope(file, LayerKind::sliding, of_sliding);
  if (file.keys.findings().failed()) return;
  if (full == sliding) sliding.reset();
  for (const auto& [rope, sources] : {std::pair(full, of_full), std::pair(sliding, of_sliding)}) {
    if (!rope) continue;
    auto rotary = rotary_of(file, *rope, sources);
    if (!rotary) return;
    model.rotary.push_back(*std::move(rotary));
  }
  if (model.rotary.size() < 2) return;
  model.rotary[0].layer_type = "full_attention";
  model.rotary[1].layer_type = "sliding_attention";
}

GgufModel describe_file(const GgufModelFile& file, const ModelSpec& model) {
  const RopeType type = rope_type_of(file);
  GgufModel said{.rope_type = std::string(name_of(type))};
  if (model.rotary.empty()) return said;
  const bool to_half = file.row.converted == Converted::to_half && type == RopeType::mrope;
  const bool is_permuted = file.row.converted == Converted::permuted || to_half;
  const Pairing now = model.rotary.front().spec.pairing;
  said.rows = is_permuted ? ProjectionRows::permuted : ProjectionRows::kept;
  said.checkpoint_pairing = now;
  if (is_permuted) {
    said.checkpoint_pairing = to_half ? Pairing::interleaved : Pairing::half;
  }
  said.unstated = unstated_in(file);
  return said;
}

// The soft cap of Gemma 2, which llama.cpp applies even without the key.
void resolve_softcap(const GgufModelFile& file, ModelSpec& model) {
  if (file.row.name != "gemma2") return;
  const auto stated = file.keys.number("attn_logit_softcapping");
  model.softcap = stated.or_else(50);
  note(model.sources, "softcap", stated.origin, stated.key);
  if (*model.softcap >= 0x1p-64 && *model.softcap <= 0x1p64) return;
  file.keys.malformed(stated.key, " must be from 2^-64 to 2^64, got ", *model.softcap);
}

bool has_rope(const GgufModelFile& file, std::int64_t layers) {
  return file.row.rope != RopeType::none && !(file.row.name == "baichuan" && layers == 40);
}

void warn_about_context(const GgufModelFile& file) {
  const auto trained = file.keys.integer("context_length");
  const auto& wanted = file.options.context_tokens;
  if (!wanted || !trained.value || *wanted <= *trained.value) return;
  file.keys.findings().warn("a context of ", *wanted, " tokens is beyond ", trained.key, ", ",
                            *trained.value);
}

ModelSpec resolve_file(const GgufModelFile& file) {
  ModelSpec model;
  model.model_type = file.row.name;
  note(model.sources, "model_type", Origin::stated, architecture_key);
  const GgufLayers layers = read_gguf_layers(file.keys, file.row);
  if (file.keys.findings().failed()) return model;
  note(model.sources, "layers", Origin::stated, file.keys.full("block_count"));
  const auto count = static_cast<std::int64_t>(layers.each.size());
  LayerEncoding encoding = LayerEncoding::rotary;
  if (has_rope(file, count)) {
    resolve_rotaries(file, layers, model);
    warn_about_yarn(file);
    file.flags == LlamaCppFlags{} ? warn_about_contradictions(file) : warn_about_flags(file);
  } else {
    encoding = encoding_without_rope(file, model);
  }
  note(model.sources, "encoding", Origin::family);
  if (file.keys.findings().failed()) return model;
  fill_layers(file, layers, encoding, model);
  const bool differ = std::ranges::any_of(layers.each, [](const GgufLayer& each) {
    return each.slides || !each.rotates || !each.attends;
  });
  if (differ) note(model.sources, "layer_types", layers.origin, layers.key);
  resolve_softcap(file, model);
  warn_about_context(file);
  warn_about_unread(file);
  model.gguf = describe_file(file, model);
  return model;
}

Status check_options(const GgufOptions& options) {
  if (options.context_tokens && *options.context_tokens < 1) {
    return invalid_argument("context_tokens must be >= 1, got ", *options.context_tokens);
  }
  if (!is_enumerator(options.numerics)) return no_enumerator("numerics", options.numerics);
  if (options.numerics != Numerics::exact && options.numerics != Numerics::ggml) {
    return invalid_argument("numerics must be exact or ggml, because a GGUF file does not say ",
                            "where the model's class of Transformers rounds; got ",
                            to_string(options.numerics));
  }
  return {};
}

Result<ModelSpec> resolve_metadata(const GgufMetadata& metadata, const GgufOptions& options) {
  if (auto status = check_options(options); !status) return std::move(status).error();
  if (auto status = check_split(metadata); !status) return std::move(status).error();
  const auto row = find_row(metadata);
  if (!row) return row.error();
  std::optional<GgufMetadata> changed;
  GgufChanges changes;
  if (!options.overrides.empty()) {
    changed = metadata;
    auto applied = apply_gguf_overrides(options.overrides, row->name, *changed);
    if (!applied) return std::move(applied).error();
    changes = *std::move(applied);
  }
  std::set<std::string> asked;
  Findings findings;
  findings.asked = &asked;
  const GgufMetadata& read = changed ? *changed : metadata;
  const GgufKeys keys(read, row->name, findings);
  const GgufModelFile file{
      .metadata = read, .row = *row, .keys = keys, .options = options, .flags = changes.flags};
  ModelSpec model = resolve_file(file);
  if (findings.failed()) return *findings.error;
  if (auto status = check_overrides(changes.keys, asked, findings.warnings); !status)
    return std::move(status).error();
  model.warnings = std::move(findings.warnings);
  return model;
}

}  // namespace

std::string_view to_string(ProjectionRows rows) noexcept { return name_or_unknown(rows); }

std::string_view gguf_commit() noexcept { return commit; }

Result<ModelSpec> resolve_gguf(const GgufMetadata& metadata, const GgufOptions& options) noexcept {
  return guarded([&]() -> Result<ModelSpec> { return resolve_metadata(metadata, options); });
}

Result<ModelSpec> resolve_gguf(const ByteSource& source, const GgufOptions& options) noexcept {
  return guarded([&]() -> Result<ModelSpec> {
    if (auto status = check_options(options); !status) return std::move(status).error();
    const auto metadata = read_gguf_metadata(source);
    if (!metadata) return metadata.error();
    return resolve_metadata(*metadata, options);
  });
}

}  // namespace rotary
