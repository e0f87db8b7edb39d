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
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// One rotary embedding of a model; layers share it.
struct ModelRotary {
  std::optional<std::string>
      layer_type;  // the config's name for the layers that use it; absent: all
  RotarySpec spec;
  double softmax_factor = 1;                           // multiplies the softmax scale, apart from A
  std::optional<std::int64_t> trained_context_tokens;  // max_position_embeddings
};

// How positions enter a layer.
enum class LayerEncoding : std::int32_t { rotary = 1 };

// One layer of a model.
struct ModelLayer {
  LayerEncoding encoding = LayerEncoding::rotary;
  std::size_t rotary = 0;  // index into ModelSpec::rotary
};

// What a config says about positions.
struct ModelSpec {
  std::string model_type;  // empty when the config has none
  std::vector<ModelRotary> rotary;
  std::vector<ModelLayer> layers;     // empty when the config does not say how many
  std::vector<std::string> warnings;  // legal, but suspicious: worth a person's look
};

// What the config does not say.
struct ResolveOptions {
  std::optional<Pairing> pairing = {};  // for a family that is not known; overrides a known one's
  std::optional<std::int64_t> context_tokens =
      {};  // the context you mean to use: warned about when too long
};

// Reads a Hugging Face config.json (the bytes, UTF-8), old and new forms of its keys.
// Families: llama, mistral, qwen2, gpt_neox, gptj; any other needs options.pairing.
// Refuses what it does not understand. Errors name the key, the requirement and what was got:
// malformed_input for bad JSON (duplicate keys and depth beyond 64 included), missing or mistyped
// values; unsupported for an unknown family, rope_type or rope key; invalid_argument for options.
[[nodiscard]] ROTARY_API Result<ModelSpec> resolve(std::string_view config_json,
                                                   const ResolveOptions& options = {}) noexcept;

}  // namespace rotary
