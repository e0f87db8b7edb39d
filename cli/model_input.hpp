// SPDX-License-Identifier: Apache-2.0
// From --config, --pairing, --layer and --layer-type to the rotary embedding that a command uses.
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

// A file that says what a model is.
struct ConfigFile {
  // The config's text; of a GGUF file an object with its sizes under the names that configs have.
  std::string json;
  std::optional<GgufMetadata> gguf = {};
};

// The config or GGUF file at the path ("-": standard input) or, where there is no such file, the
// model card of that name.
[[nodiscard]] ConfigFile read_config(const std::string& path_or_card);

// True for a change by --flags, or by --overrides.
[[nodiscard]] bool is_flag(const ConfigOverride& change);
[[nodiscard]] bool is_merged(const ConfigOverride& change);

// The model that the config file at the path ("-": standard input) describes or, where there is no
// such file, the model card of that name.
[[nodiscard]] ModelSpec read_model(const std::string& path_or_card, const ResolveOptions& options);

// Resolves what read_config() gave for it. Usage failure for a GGUF file with options that are for
// configs.
[[nodiscard]] ModelSpec model_of(const ConfigFile& config, const std::string& path_or_card,
                                 const ResolveOptions& options);

// The model of what read_config() gave, as an engine reads it. Usage failure for a GGUF file.
[[nodiscard]] DialectReading reading_of(const ConfigFile& config, const std::string& path_or_card,
                                        const ResolveOptions& options, const Dialect& dialect);

// At most one of the two: an index into the model's layers, or the config's name for some of them.
struct LayerChoice {
  std::optional<std::int64_t> layer;
  std::optional<std::string> layer_type;
};

// Index into model.rotary. Usage failure, which lists what exists, when the choice names nothing,
// or when there is no choice and the model has several.
[[nodiscard]] std::size_t choose_rotary(const ModelSpec& model, const LayerChoice& choice);

// "transformers, rounding every_step"; rounding belongs to transformers alone.
[[nodiscard]] std::string numerics_text(const RotarySpec& spec);

// "features i and i + 64 turn together (rotate_half)".
[[nodiscard]] std::string pairing_text(const HeadWindow& window);

}  // namespace rotary::cli
