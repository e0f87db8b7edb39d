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
  class_default = 3,  // the config lacks the key: what the model's configuration class then has
  family = 4,         // no key says it: the code of the model's family
  rule = 5,           // computed from other keys, or the default of a scaling rule
};

// "stated", "asked", "class_default", "family", "rule".
[[nodiscard]] ROTARY_API std::string_view to_string(Origin origin) noexcept;

// Where one value of a model comes from.
struct ValueSource {
  std::string_view value;  // the name of a member, or of a parameter of the scaling rule
  Origin origin = Origin::stated;
  std::string key = {};  // that states it, or that would; for rule, those it is computed from
};

// One rotary embedding of a model; layers share it.
struct ModelRotary {
  std::optional<std::string>
      layer_type;  // the config's name for the layers that use it; absent: all
  RotarySpec spec;
  double softmax_factor = 1;  // multiplies the softmax scale, apart from A
  // Multi-head latent attention (MLA) keeps the rotated features in a tensor of their own, which
  // the spec describes. If that tensor is joined to the unrotated features of a query head, this
  // many unrotated features come first. 0: not MLA.
  std::int64_t nope_head_dim = 0;
  std::optional<std::int64_t> trained_context_tokens;  // max_position_embeddings
  // head_dim, rotary_dim, first_feature, base, pairing, sense, rounding, axes, rope_type and the
  // rule's parameters, nope_head_dim, softmax_factor and trained_context_tokens: those that apply,
  // each once.
  std::vector<ValueSource> sources = {};
};

// How a layer uses positions.
enum class LayerEncoding : std::int32_t {
  rotary = 1,
  none = 2,          // NoPE: attention without positions, but for the causal mask
  alibi = 3,         // linear biases on the scores (BLOOM, MPT, Falcon-RW)
  t5_bias = 4,       // learned biases for buckets of distances (T5)
  learned = 5,       // a learned vector added to the token's embedding (GPT-2, OPT, BERT)
  sinusoidal = 6,    // a fixed vector added to the token's embedding (Marian, Whisper's encoder)
  no_attention = 7,  // a layer that mixes tokens by other means (Mamba, linear attention)
};

// "rotary", "none", "alibi", "t5_bias", "learned", "sinusoidal", "no_attention".
[[nodiscard]] ROTARY_API std::string_view to_string(LayerEncoding encoding) noexcept;

// One layer of a model.
struct ModelLayer {
  LayerEncoding encoding = LayerEncoding::rotary;
  std::size_t rotary = 0;  // index into ModelSpec::rotary; for LayerEncoding::rotary
  QueryTemperature query_temperature = NoTemperature{};
};

// The encoder of a model whose encoder and decoder have different encodings (Whisper); of others,
// ModelSpec::layers says all.
struct ModelEncoder {
  LayerEncoding encoding = LayerEncoding::sinusoidal;
  std::int64_t layers = 0;
  SinusoidalSpec sinusoidal;
  std::optional<std::int64_t> positions;  // rows of the table: max_source_positions
  std::vector<ValueSource> sources = {};  // layers, dim, positions; sinusoidal: base and spacing
};

// A converter may have reordered the rows of the projections of q and k; another pairing then gives
// the scores that the checkpoint had.
enum class ProjectionRows : std::int32_t {
  kept = 1,      // as in the checkpoint
  permuted = 2,  // each head's from half to interleaved, or from interleaved to half
};

// "kept", "permuted".
[[nodiscard]] ROTARY_API std::string_view to_string(ProjectionRows rows) noexcept;

// The file of a model that resolve_gguf() read, beside the checkpoint that it was made from.
struct GgufModel {
  std::string rope_type;  // llama.cpp's: "none", "norm", "neox", "mrope" or "imrope"
  // As llama.cpp's converter makes them for this architecture; a file does not say who wrote it.
  // Absent where no layer rotates.
  std::optional<ProjectionRows> rows = {};
  std::optional<Pairing> checkpoint_pairing = {};  // of the checkpoint's own weights
  // Things for which GGUF has no key, in words: the checkpoint may differ there.
  std::vector<std::string> unstated = {};
};

// The positions part of a config, resolved.
struct ModelSpec {
  std::string model_type;             // empty when the config has none
  std::vector<ModelRotary> rotary;    // empty when no layer rotates
  std::vector<ModelLayer> layers;     // empty when the config does not say how many
  std::vector<std::string> warnings;  // legal, but suspicious: a person should look at it
  // The object of the config that was read, "text_config", "thinker_config.text_config" or
  // "vision_config"; empty: the config itself.
  std::string config_part;
  std::optional<ModelEncoder> encoder;  // layers are then the decoder's
  // The table that LayerEncoding::sinusoidal adds to embeddings; absent, too, where the config
  // lacks the width.
  std::optional<SinusoidalSpec> sinusoidal;
  // The bias that LayerEncoding::alibi or t5_bias adds to scaled scores, T5 to scores as they
  // are; absent, too, where the config lacks the number of heads. T5's table has its shape and
  // waits for its data and dtype; where a model has an encoder and a decoder, the direction is the
  // encoder's, and the decoder's is causal.
  std::optional<RelativeBias> relative_bias;
  // dual_chunk_attention_config of Qwen2.5-1M: relative positions beyond a chunk, for
  // attend_mapped(). Absent: they are differences of positions.
  std::optional<DualChunk> dual_chunk;
  // attn_logit_softcapping of models whose attention applies it (Gemma 2): AttendOptions::softcap.
  std::optional<double> softcap;
  // model_type, layers (their number), encoding, layer_types (what tells layers apart),
  // query_temperature, dual_chunk, softcap, sinusoidal, dim and position_offset of it, heads,
  // bias_max, buckets and max_distance of relative_bias: those that apply, each once.
  std::vector<ValueSource> sources;
  std::optional<GgufModel> gguf;  // of a GGUF file; absent: of a config

  // The one rotary embedding of all layers that rotate. Errors: invalid_argument if no layer
  // rotates, and if the model has several embeddings: the message has their layer types, and
  // `layers` says which layer has which.
  [[nodiscard]] ROTARY_API Result<ModelRotary> only_rotary() const noexcept;
};

// A part of a model, with a config of its own.
enum class ModelPart : std::int32_t {
  text = 1,    // the language model; of a model without one the model itself
  vision = 2,  // the tower that reads images: vision_config
  audio = 3,   // the tower that reads sound: audio_config
};

// Every enumerator, in order.
inline constexpr std::array all_model_parts = {ModelPart::text, ModelPart::vision,
                                               ModelPart::audio};

// "text", "vision", "audio".
[[nodiscard]] ROTARY_API std::string_view to_string(ModelPart part) noexcept;

// The answer to a key that is set and that nothing reads for the model.
enum class UnreadKey : std::int32_t { refuse, warn };

// Sets one key of the config. key: dots lead into objects ("rope_scaling.factor"). value: JSON
// text; text that is not JSON is taken as a string. A key that nothing reads for the model is an
// error, which names the one that may be meant, or a warning; null removes a key, be it there or
// not.
// from: the path of a key that the config has under another name; its value moves to `key`.
struct ConfigOverride {
  std::string key;
  std::string value;
  std::string from = {};  // not empty: `value` is unused
  UnreadKey unread = UnreadKey::refuse;
};

// Information that the config lacks, and overrides of it.
struct ResolveOptions {
  // Required for an unknown family; overrides that of a known one.
  std::optional<Pairing> pairing = {};
  // The context you mean to use: too long a one gives a warning.
  std::optional<std::int64_t> context_tokens = {};
  Numerics numerics = Numerics::exact;         // for every spec
  std::vector<ConfigOverride> overrides = {};  // applied in order before anything is read
  ModelPart part = ModelPart::text;            // which of the model's parts to read
};

// Reads a Hugging Face config.json (the bytes, UTF-8) with old or new forms of its keys, or the
// transformer/config.json of a diffusion model. For a model of images or sound it reads the config
// of the language model inside, or that of options.part. The known families are
// those of known_families() (rotary/model_spec.hpp); any other needs options.pairing. Refuses what
// it does not understand. Errors name the key, the requirement and what was got: malformed_input
// for bad JSON (duplicate keys and depth beyond 64 included) and for missing or mistyped values;
// unsupported for an unknown family, rope_type or rope key; invalid_argument for options, a part
// that the config lacks among them.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve(std::string_view config_json,
                                                   const ResolveOptions& options = {}) noexcept;

// Reads a file and resolves it: a config.json, a GGUF file (resolve_gguf() in rotary/gguf.hpp), or
// a folder with a config.json. Errors: invalid_argument if path cannot be read, or if a GGUF file
// is given options.pairing or options.part, which are for configs; those of resolve() and
// resolve_gguf().
[[nodiscard]] ROTARY_API Result<ModelSpec> load_model(const std::string& path,
                                                      const ResolveOptions& options = {}) noexcept;

// One part of a config.
struct PartInfo {
  ModelPart part = ModelPart::text;
  std::string config_part;  // the object that describes it; empty: the config itself
  std::string model_type;   // empty when nothing says it
};

// The parts that a config.json describes, that of ResolveOptions{} first. Those of a family that
// nobody knows are listed, too, by their usual keys; resolve() refuses them. A tower's own config
// is one part. Errors: malformed_input, as resolve().
[[nodiscard]] ROTARY_API Result<std::vector<PartInfo>> model_parts(
    std::string_view config_json) noexcept;

// The model families that resolve() knows, and what each assumes beyond its config.
//
//   for (const FamilyInfo& family : *known_families()) use(family.model_type);

// The texts live as long as the program.
struct FamilyInfo {
  std::string_view model_type;     // as in a config
  LayerEncoding encoding;          // for its attention layers, unless the config chooses another
  std::optional<Pairing> pairing;  // for a rotary family
  std::optional<double> base;      // when the config gives none; absent: the config must
  // For a model whose config contains the config of a language model: the family of the inner
  // config if that names none.
  std::string_view text_model_type;
  std::string_view note;  // what is unusual
  // Folder in transformers/models, or file of Diffusers; empty: the code comes with the model.
  std::string_view source;
};

// Sorted by model_type.
[[nodiscard]] ROTARY_API Result<std::vector<FamilyInfo>> known_families() noexcept;

// LengthPolicy: the length of a context that an engine passes to rules that depend on it (dynamic,
// longrope), over the calls of a model one after the other.
//
//   const std::array calls = {std::int64_t{4097}, std::int64_t{101}};  // tokens of two calls
//   length_in_force(LengthPolicy::longest_call, 2048, calls);          // 4097

// A call has the length of its longest sequence: its last position + 1.
enum class LengthPolicy : std::int32_t {
  // The length of the call itself.
  each_call = 1,
  // The longest call so far, until one is shorter than the trained context: that one has its own.
  kept_above_trained = 2,
  // The last call beyond the trained context; a shorter one changes nothing.
  last_long_call = 3,
  // The longest call so far, for ever.
  longest_call = 4,
  // The longest context that the engine was started for, whatever the calls.
  whole_context = 5,
};

// Every enumerator, in order.
inline constexpr std::array all_length_policies = {
    LengthPolicy::each_call, LengthPolicy::kept_above_trained, LengthPolicy::last_long_call,
    LengthPolicy::longest_call, LengthPolicy::whole_context};

// "each_call", "kept_above_trained", "last_long_call", "longest_call", "whole_context".
[[nodiscard]] ROTARY_API std::string_view to_string(LengthPolicy policy) noexcept;

// The length that is in force in the last of the calls, each >= 1, of a rule that has its first
// effect beyond trained_tokens, >= 1; calls has at least one. At most trained_tokens: the rule has
// none. whole_context takes the longest of all. Error: invalid_argument.
[[nodiscard]] ROTARY_API Result<std::int64_t> length_in_force(
    LengthPolicy policy, std::int64_t trained_tokens, std::span<const std::int64_t> calls) noexcept;

}  // namespace rotary

#endif  // ROTARY_MODEL_SPEC_HPP
