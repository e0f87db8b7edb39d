// SPDX-License-Identifier: Apache-2.0
// resolve: reads a model's own config and says how each of its layers uses positions.
//
//   const ModelSpec model = *resolve(config_json);  // or load_model("checkpoint/")
//   const RotarySpec spec = model.only_rotary()->spec;
#ifndef ROTARY_MODEL_SPEC_HPP
#define ROTARY_MODEL_SPEC_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/absolute.hpp"
#include "rotary/export.h"
#include "rotary/position_maps.hpp"
#include "rotary/query_temperature.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// Where a value comes from.
enum class Origin : std::int32_t {
  stated = 1,         // a key of the config, or an override of it
  asked = 2,          // ResolveOptions
  class_default = 3,  // the configuration class, because the config lacks the key
  family = 4,         // the code of the family, because no key states it
  rule = 5,           // computed from other keys, or the default of a scaling rule
};

// "stated", "asked", "class_default", "family", "rule".
[[nodiscard]] ROTARY_API std::string_view to_string(Origin origin) noexcept;

// Where one value of a model comes from.
struct ValueSource {
  std::string_view value;  // the name of a member, or of a parameter of the scaling rule
  Origin origin = Origin::stated;
  std::string key = {};  // the key that states or would state it; rule: all keys used
};

// One rotary embedding of a model, for some or all layers.
struct ModelRotary {
  std::optional<std::string>
      layer_type;  // the config's name for the layers that use it; absent: all
  RotarySpec spec;
  double softmax_factor = 1;  // on the softmax scale, in addition to A on cos and sin
  // Multi-head latent attention (MLA): `spec` describes the tensor of rotated features; a joined
  // query head has this many unrotated features before them. 0: not MLA.
  std::int64_t nope_head_dim = 0;
  std::optional<std::int64_t> trained_context_tokens;  // max_position_embeddings
  // One entry for each value that applies: head_dim, rotary_dim, first_feature, base, pairing,
  // sense, rounding, axes, rope_type and the rule's parameters, nope_head_dim, softmax_factor,
  // trained_context_tokens.
  std::vector<ValueSource> sources = {};
};

// How a layer uses positions.
enum class LayerEncoding : std::int32_t {
  rotary = 1,
  none = 2,          // NoPE: attention without positions, except for the causal mask
  alibi = 3,         // linear biases on scores (BLOOM, MPT)
  t5_bias = 4,       // learned biases of buckets (T5)
  learned = 5,       // a learned vector is added to embeddings (GPT-2, BERT)
  sinusoidal = 6,    // a fixed vector is added to embeddings (Marian)
  no_attention = 7,  // tokens mix by other means (Mamba, linear attention)
};

// "rotary", "none", "alibi", "t5_bias", "learned", "sinusoidal", "no_attention".
[[nodiscard]] ROTARY_API std::string_view to_string(LayerEncoding encoding) noexcept;

// One layer of a model.
struct ModelLayer {
  LayerEncoding encoding = LayerEncoding::rotary;
  std::size_t rotary = 0;  // index into ModelSpec::rotary; for LayerEncoding::rotary
  QueryTemperature query_temperature = NoTemperature{};
};

// The encoder of a model whose encoder and decoder have different encodings (Whisper).
struct ModelEncoder {
  LayerEncoding encoding = LayerEncoding::sinusoidal;
  std::int64_t layers = 0;
  SinusoidalSpec sinusoidal;
  std::optional<std::int64_t> positions;  // rows of the table: max_source_positions
  std::vector<ValueSource> sources = {};  // layers, dim, positions; sinusoidal: base and spacing
};

// Whether a converter reordered the rows of the q and k projections. The file then needs another
// pairing than the checkpoint.
enum class ProjectionRows : std::int32_t {
  kept = 1,      // as in the checkpoint
  permuted = 2,  // within each head, between half and interleaved
};

// "kept", "permuted".
[[nodiscard]] ROTARY_API std::string_view to_string(ProjectionRows rows) noexcept;

// Findings of resolve_gguf() about the file and its checkpoint.
struct GgufModel {
  std::string rope_type;  // llama.cpp's: "none", "norm", "neox", "mrope" or "imrope"
  // The choice of llama.cpp's converter for this architecture. Absent if no layer rotates.
  std::optional<ProjectionRows> rows = {};
  std::optional<Pairing> checkpoint_pairing = {};  // of the checkpoint's weights
  // Facts, as sentences, that no GGUF key states. The checkpoint may differ from them.
  std::vector<std::string> unstated = {};
};

// How a model uses positions.
struct ModelSpec {
  std::string model_type;             // empty when the config has none
  std::vector<ModelRotary> rotary;    // empty when no layer rotates
  std::vector<ModelLayer> layers;     // empty when the config does not say how many
  std::vector<std::string> warnings;  // legal but suspicious facts
  // Path of the object that was read: "text_config", "thinker_config.text_config", "vision_config";
  // empty: the config itself.
  std::string config_part;
  std::optional<ModelEncoder> encoder;  // `layers` are then the decoder's
  // The table of LayerEncoding::sinusoidal; also absent if the config lacks the width.
  std::optional<SinusoidalSpec> sinusoidal;
  // The bias of LayerEncoding::alibi or t5_bias; also absent if the config lacks the number of
  // heads. ALiBi is added to scaled scores, T5's bias to unscaled ones. The caller sets data and
  // dtype of T5's table. The direction is the encoder's, if there is one.
  std::optional<RelativeBias> relative_bias;
  // The position map for attend_mapped(): dual_chunk_attention_config of Qwen2.5-1M.
  std::optional<DualChunk> dual_chunk;
  // AttendOptions::softcap: attn_logit_softcapping, if the model applies it (Gemma 2).
  std::optional<double> softcap;
  // One entry for each value that applies: model_type, layers (their number), encoding, layer_types
  // (how layers differ), query_temperature, dual_chunk, softcap; sinusoidal with dim and
  // position_offset; heads, bias_max, buckets and max_distance of relative_bias.
  std::vector<ValueSource> sources;
  std::optional<GgufModel> gguf;  // only for GGUF files

  // The rotary embedding of a model that has exactly one. Error: invalid_argument if the model has
  // none, or has several; the message then lists their layer types.
  [[nodiscard]] ROTARY_API Result<ModelRotary> only_rotary() const noexcept;
};

// A part of a model that has its own config.
enum class ModelPart : std::int32_t {
  text = 1,    // the language model; without one, the model itself
  vision = 2,  // the tower that reads images: vision_config
  audio = 3,   // the tower that reads sound: audio_config
};

// Every enumerator, in order.
inline constexpr std::array all_model_parts = {ModelPart::text, ModelPart::vision,
                                               ModelPart::audio};

// "text", "vision", "audio".
[[nodiscard]] ROTARY_API std::string_view to_string(ModelPart part) noexcept;

// Whether an override of a key that nothing reads is refused or gives a warning.
enum class UnreadKey : std::int32_t { refuse, warn };

// Sets one key of the config. key: dots lead into objects ("rope_scaling.factor"). value: JSON
// text; other text is a string; null removes the key. from: a key whose value moves to `key`.
struct ConfigOverride {
  std::string key;
  std::string value;
  std::string from = {};  // if not empty, `value` is unused
  UnreadKey unread = UnreadKey::refuse;
};

// Values that the config lacks, and overrides.
struct ResolveOptions {
  // Required for an unknown family; overrides that of a known one.
  std::optional<Pairing> pairing = {};
  // The intended context, in tokens. If it exceeds the trained context, the model gets a warning.
  std::optional<std::int64_t> context_tokens = {};
  Numerics numerics = Numerics::exact;         // for every spec
  std::vector<ConfigOverride> overrides = {};  // applied in order before anything is read
  ModelPart part = ModelPart::text;            // the part to read
};

// Reads a Hugging Face config.json (UTF-8) with old or new keys, a params.json (Meta, Mistral), or
// a diffusion model's transformer/config.json. If a model has several parts, reads options.part.
// Families beyond known_families() need options.pairing. Errors name the key, the requirement and
// what was got: malformed_input for bad JSON (also duplicate keys and depth beyond 64) and for
// missing or mistyped values; unsupported for an unknown rope_type or rope key, and for an unknown
// family without options.pairing; invalid_argument for options, such as a part that is absent.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve(std::string_view config_json,
                                                   const ResolveOptions& options = {}) noexcept;

// Reads a config.json, a folder with a config.json, or a GGUF file (gguf.hpp). Errors:
// invalid_argument if path cannot be read, or for a GGUF file with options.pairing or options.part;
// those of resolve() and resolve_gguf().
[[nodiscard]] ROTARY_API Result<ModelSpec> load_model(const std::string& path,
                                                      const ResolveOptions& options = {}) noexcept;

// One part of a config.
struct PartInfo {
  ModelPart part = ModelPart::text;
  std::string config_part;  // path of its object; empty: the config itself
  std::string model_type;   // empty if unknown
};

// The parts of a config.json, the text first if there is one. Includes parts of unknown families,
// which resolve() refuses. Errors: malformed_input, as resolve().
[[nodiscard]] ROTARY_API Result<std::vector<PartInfo>> model_parts(
    std::string_view config_json) noexcept;

// The model families that resolve() knows, and what each assumes beyond its config.
//
//   for (const FamilyInfo& family : *known_families()) use(family.model_type);

// The texts live as long as the program.
struct FamilyInfo {
  std::string_view model_type;     // as in a config
  LayerEncoding encoding;          // of attention layers, unless the config differs
  std::optional<Pairing> pairing;  // for a rotary family
  std::optional<double> base;      // default; absent: the config must state it
  // The default family of a language model's config inside this config; empty: there is none.
  std::string_view text_model_type;
  std::string_view note;  // what is unusual
  // Folder in transformers/models or file of Diffusers; empty: the model comes with its own code.
  std::string_view source;
};

// Sorted by model_type.
[[nodiscard]] ROTARY_API Result<std::vector<FamilyInfo>> known_families() noexcept;

// LengthPolicy: the context length that an engine passes to scaling rules (dynamic, longrope) in
// consecutive calls of a model.
//
//   const std::array calls = {std::int64_t{4097}, std::int64_t{101}};  // tokens of two calls
//   length_in_force(LengthPolicy::longest_call, 2048, calls);          // 4097

// The length of a call is 1 + the last position of all its sequences.
enum class LengthPolicy : std::int32_t {
  // The length of the call itself.
  each_call = 1,
  // The longest call since the last one shorter than the trained context.
  kept_above_trained = 2,
  // The last call beyond the trained context.
  last_long_call = 3,
  // The longest call so far.
  longest_call = 4,
  // The longest context that the engine was started for.
  whole_context = 5,
};

// Every enumerator, in order.
inline constexpr std::array all_length_policies = {
    LengthPolicy::each_call, LengthPolicy::kept_above_trained, LengthPolicy::last_long_call,
    LengthPolicy::longest_call, LengthPolicy::whole_context};

// "each_call", "kept_above_trained", "last_long_call", "longest_call", "whole_context".
[[nodiscard]] ROTARY_API std::string_view to_string(LengthPolicy policy) noexcept;

// The length that the policy passes in the last of the calls. calls: at least one length, each >=
// 1. A result of at most trained_tokens (>= 1) has no effect on rules. whole_context takes the
// longest call. Error: invalid_argument.
[[nodiscard]] ROTARY_API Result<std::int64_t> length_in_force(
    LengthPolicy policy, std::int64_t trained_tokens, std::span<const std::int64_t> calls) noexcept;

}  // namespace rotary

#endif  // ROTARY_MODEL_SPEC_HPP
