// SPDX-License-Identifier: Apache-2.0
// Reads configs and GGUF files, and chooses the rotary embedding that a command uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rotary/dialect.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::cli {

// The help of CONFIG, for every command.
inline constexpr std::string_view config_help =
    "a Hugging Face config.json or a GGUF file, '-' for standard input, or a model card's name "
    "(rotary models)";

// True for a file ("-": standard input) and for the name of a model card.
[[nodiscard]] bool names_config(const std::string& path_or_card);

// A config, or the metadata of a GGUF file.
struct ConfigFile {
  // The config's text; for GGUF, its sizes under the keys of configs.
  std::string json;
  std::optional<GgufMetadata> gguf = {};
};

// Reads the file at the path ("-": standard input), else the model card of that name.
[[nodiscard]] ConfigFile read_config(const std::string& path_or_card);

// True for a change by --flags, or by --overrides.
[[nodiscard]] bool is_flag(const ConfigOverride& change);
[[nodiscard]] bool is_merged(const ConfigOverride& change);

// The model of read_config().
[[nodiscard]] ModelSpec read_model(const std::string& path_or_card, const ResolveOptions& options);

// Resolves a result of read_config(). Usage failure for a GGUF file with options for configs.
[[nodiscard]] ModelSpec model_of(const ConfigFile& config, const std::string& path_or_card,
                                 const ResolveOptions& options);

// The same, as an engine reads it. Usage failure for a GGUF file.
[[nodiscard]] DialectReading reading_of(const ConfigFile& config, const std::string& path_or_card,
                                        const ResolveOptions& options, const Dialect& dialect);

// At most one of: a layer's index, the config's name for a kind of layer.
struct LayerChoice {
  std::optional<std::int64_t> layer;
  std::optional<std::string> layer_type;
};

// Index into model.rotary. Usage failure, with the names, for an unknown or a missing choice.
[[nodiscard]] std::size_t choose_rotary(const ModelSpec& model, const LayerChoice& choice);

// "transformers, rounding every_step"; rounding belongs to transformers alone.
[[nodiscard]] std::string numerics_text(const RotarySpec& spec);

// "features i and i + 64 turn together (rotate_half)".
[[nodiscard]] std::string pairing_text(const HeadWindow& window);

}  // namespace rotary::cli
