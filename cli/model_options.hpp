// SPDX-License-Identifier: Apache-2.0
// Options of commands that read a model's config: the config, facts that it lacks, and changes.
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

inline constexpr std::string_view config_settings_help =
    "another value for a key of the config, as JSON (what is no JSON is text): rope_theta=5e5, "
    "rope_scaling.factor=8, 'rope_scaling={\"type\": \"linear\", \"factor\": 8}'; may be repeated";

// Adds --pairing, --context, --numerics, --part, --set, --key, --overrides and --flags. Commands
// declare the config themselves, because its place on the command line differs.
void declare_model_options(OptionParser& parser, ModelOptions& options);

// KEY=VALUE in UTF-8.
[[nodiscard]] Value<ConfigOverride> setting();

// The names of rotary embeddings without a config: --set gives the members of their spec.
inline constexpr std::string_view rope_name = "rope";
inline constexpr std::string_view xpos_name = "xpos";

// True for the name rope, unless a file has it.
[[nodiscard]] bool is_rope(const ModelOptions& options);

// Makes a spec from --set alone (rotary/spec_json.hpp). options.config must be rope or xpos.
[[nodiscard]] ModelSpec model_of_settings(const ModelOptions& options);

[[nodiscard]] ModelSpec read_model(const ModelOptions& options);

// The frequencies of model.rotary[index], for --context. Fails as wrong usage if --context is
// needed and missing.
[[nodiscard]] Frequencies frequencies_of(const ModelSpec& model, std::size_t index,
                                         const ModelOptions& options);

}  // namespace rotary::cli
