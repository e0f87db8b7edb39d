// SPDX-License-Identifier: Apache-2.0
// Options of every command that reads a model's config: the config itself, facts that it does not
// state, and changes to it.
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

// Names of rotary embedding itself, whose numbers are those of --set, as a spec has them.
inline constexpr std::string_view rope_name = "rope";
inline constexpr std::string_view xpos_name = "xpos";

// A spec of --set alone: its members, as rotary/spec_json.hpp says. options.config is the name.
[[nodiscard]] ModelSpec model_of_settings(const ModelOptions& options);

// The model of options.config.
[[nodiscard]] ModelSpec read_model(const ModelOptions& options);

// Makes those of model.rotary[index] for the context that was asked for. Usage failure when they
// depend on it and none was.
[[nodiscard]] Frequencies frequencies_of(const ModelSpec& model, std::size_t index,
                                         const ModelOptions& options);

}  // namespace rotary::cli
