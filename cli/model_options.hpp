// SPDX-License-Identifier: Apache-2.0
// What every command that reads a model's config asks about it: the config itself, what it does not
// say, and what is to be changed in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/option_parser.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

struct ModelOptions {
  std::string config;
  std::optional<std::string> pairing;
  std::optional<std::string> context;
  std::optional<std::string> numerics;
  std::vector<std::string> settings;  // KEY=VALUE
};

// --pairing, --context, --numerics, --set. The config is declared by the command, which knows where
// it stands.
void declare_model_options(OptionParser& parser, ModelOptions& options);

// Usage failure for options that are not well-formed.
[[nodiscard]] ResolveOptions resolve_options(const ModelOptions& options);

// The model of options.config.
[[nodiscard]] ModelSpec read_model(const ModelOptions& options);

// Of model.rotary[index], for the context that was asked for. Usage failure when they depend on it
// and none was.
[[nodiscard]] Frequencies frequencies_of(const ModelSpec& model, std::size_t index,
                                         const ModelOptions& options);

// The usage lines of the options.
inline constexpr std::string_view model_options_usage =
    "[--pairing half|interleaved|interleaved_to_half] [--context N]\n"
    "[--numerics exact|transformers|ggml] [--set KEY=VALUE]...";

}  // namespace rotary::cli
