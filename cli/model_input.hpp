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

// True for a file or folder ("-": standard input), a model card's name, or a text with a '/'.
[[nodiscard]] bool names_config(const std::string& path_or_card);

// A config, or the metadata of a GGUF file.
struct ConfigFile {
  // The config's text; for a GGUF file, its sizes under the keys of a config.
  std::string json;
  std::optional<GgufMetadata> gguf = {};
};

// Reads the file or folder ("-": standard input), else the model card with this name or id.
[[nodiscard]] ConfigFile read_config(const std::string& path_or_card);

// is_flag: a change by --flags. is_merged: a change by --overrides.
[[nodiscard]] bool is_flag(const ConfigOverride& change);
[[nodiscard]] bool is_merged(const ConfigOverride& change);

// read_config() and model_of().
[[nodiscard]] ModelSpec read_model(const std::string& path_or_card, const ResolveOptions& options);

// Resolves what read_config() returned. Fails as wrong usage for a GGUF file with options for
// configs.
[[nodiscard]] ModelSpec model_of(const ConfigFile& config, const std::string& path_or_card,
                                 const ResolveOptions& options);

// The model as an engine reads it. Fails as wrong usage for a GGUF file.
[[nodiscard]] DialectReading reading_of(const ConfigFile& config, const std::string& path_or_card,
                                        const ResolveOptions& options, const Dialect& dialect);

// A layer's index, or the config's name for a kind of layer, or neither.
struct LayerChoice {
  std::optional<std::int64_t> layer = {};
  std::optional<std::string> layer_type = {};
};

// An index into model.rotary. Fails as wrong usage, with the names, if the choice is unknown or
// missing.
[[nodiscard]] std::size_t choose_rotary(const ModelSpec& model, const LayerChoice& choice);

// "transformers, rounding every_step"; only transformers has a rounding.
[[nodiscard]] std::string numerics_text(const RotarySpec& spec);

// "features i and i + 64 turn together (rotate_half)".
[[nodiscard]] std::string pairing_text(const HeadWindow& window);

}  // namespace rotary::cli
