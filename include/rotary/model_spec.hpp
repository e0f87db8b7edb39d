// SPDX-License-Identifier: Apache-2.0
// resolve: from a model's own config to what each of its layers does with positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/export.h"
#include "rotary/numerics.hpp"
#include "rotary/query_temperature.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// One rotary embedding of a model; layers share it.
struct ModelRotary {
  std::optional<std::string>
      layer_type;  // the config's name for the layers that use it; absent: all
  RotarySpec spec;
  double softmax_factor = 1;  // multiplies the softmax scale, apart from A
  // Multi-head latent attention keeps what turns in a tensor of its own, which the spec describes:
  // so many features of a query head stand before it where the two are one tensor. 0: not MLA.
  std::int64_t nope_head_dim = 0;
  // mrope_section: pairs that follow the time, height and width of an image's patch. In text the
  // three are the same number, and the spec is all there is; other positions are not supported yet.
  std::vector<std::int64_t> sections = {};
  std::optional<std::int64_t> trained_context_tokens;  // max_position_embeddings
};

// How positions enter a layer.
enum class LayerEncoding : std::int32_t {
  rotary = 1,
  none = 2,          // NoPE: attention without positions, but for the causal mask
  alibi = 3,         // linear biases on the scores (BLOOM, MPT, Falcon-RW)
  t5_bias = 4,       // learned biases for buckets of distances (T5)
  learned = 5,       // a learned vector added to the token's embedding (GPT-2, OPT, BERT)
  sinusoidal = 6,    // a fixed vector added to the token's embedding (Marian, Whisper's encoder)
  no_attention = 7,  // a layer that mixes tokens otherwise (Mamba, linear attention)
};

// "rotary", "none", "alibi", "t5_bias", "learned", "sinusoidal", "no_attention".
[[nodiscard]] ROTARY_API std::string_view to_string(LayerEncoding encoding) noexcept;

// One layer of a model.
struct ModelLayer {
  LayerEncoding encoding = LayerEncoding::rotary;
  std::size_t rotary = 0;  // index into ModelSpec::rotary; for LayerEncoding::rotary
  QueryTemperature query_temperature = NoTemperature{};
};

// What a config says about positions.
struct ModelSpec {
  std::string model_type;             // empty when the config has none
  std::vector<ModelRotary> rotary;    // empty when no layer rotates
  std::vector<ModelLayer> layers;     // empty when the config does not say how many
  std::vector<std::string> warnings;  // legal, but suspicious: worth a person's look
};

// A key of the config, with dots into its objects ("rope_scaling.factor"), and the JSON text of the
// value that it gets; text that is no JSON is a string.
struct ConfigOverride {
  std::string key;
  std::string value;
};

// What the config does not say.
struct ResolveOptions {
  std::optional<Pairing> pairing = {};  // for a family that is not known; overrides a known one's
  std::optional<std::int64_t> context_tokens =
      {};                               // the context you mean to use: warned about when too long
  Numerics numerics = Numerics::exact;  // of every spec
  std::vector<ConfigOverride> overrides = {};  // applied in order before anything is read
};

// Reads a Hugging Face config.json (the bytes, UTF-8), old and new forms of its keys; of a model of
// images or sound, the language model's config within. The families are those of known_families()
// (rotary/families.hpp); any other needs options.pairing.
// Refuses what it does not understand. Errors name the key, the requirement and what was got:
// malformed_input for bad JSON (duplicate keys and depth beyond 64 included), missing or mistyped
// values; unsupported for an unknown family, rope_type or rope key; invalid_argument for options.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve(std::string_view config_json,
                                                   const ResolveOptions& options = {}) noexcept;

}  // namespace rotary
