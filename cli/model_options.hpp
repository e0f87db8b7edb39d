// SPDX-License-Identifier: Apache-2.0
// Options of commands that read a model's config: the config, missing facts, changes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/option_parser.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

struct ModelOptions {
  std::string config;
  ResolveOptions resolving = {};
  bool names_part = false;  // --part was given
};

// The help of --set.
inline constexpr std::string_view config_settings_help =
    "another value for a key of the config, as JSON (what is no JSON is text): rope_theta=5e5, "
    "rope_scaling.factor=8, 'rope_scaling={\"type\": \"linear\", \"factor\": 8}'; may be repeated";

// --pairing, --context, --numerics, --part, --set, --key, --overrides, --flags. The config is
// declared by the command, which knows where it stands.
void declare_model_options(OptionParser& parser, ModelOptions& options);

// KEY=VALUE, UTF-8.
[[nodiscard]] Value<ConfigOverride> setting();

// Rotary embedding without a config: --set gives the members of its spec.
inline constexpr std::string_view rope_name = "rope";
inline constexpr std::string_view xpos_name = "xpos";

// Makes a spec of --set alone (rotary/spec_json.hpp); options.config is the name.
[[nodiscard]] ModelSpec model_of_settings(const ModelOptions& options);

// The model of options.config.
[[nodiscard]] ModelSpec read_model(const ModelOptions& options);

// For model.rotary[index] and --context. Usage failure where --context is needed and missing.
[[nodiscard]] Frequencies frequencies_of(const ModelSpec& model, std::size_t index,
                                         const ModelOptions& options);

}  // namespace rotary::cli
