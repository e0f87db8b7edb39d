// SPDX-License-Identifier: Apache-2.0
// Options that several commands share, with their help.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "apps/files.hpp"
#include "apps/npy/npy.hpp"
#include "cli/bias_input.hpp"
#include "cli/option_parser.hpp"
#include "cli/sinusoidal_input.hpp"

namespace rotary::cli {

// --out and --force, for commands that write at most one file.
struct OutputOption {
  std::optional<std::string> path;
  Overwrite overwrite = Overwrite::refuse;
  // Fails if check_outputs() refuses the file, or if it has none of the endings (if any).
  void check(std::initializer_list<std::string_view> endings = {}) const;
  // Does nothing without --out.
  void write(std::string_view bytes) const;
  void write(const NpyView& array) const;
};

DeclaredOption declare_output(OptionParser& parser, OutputOption& output, std::string help);
void declare_force(OptionParser& parser, Overwrite& overwrite);

void declare_layer_type(OptionParser& parser, std::optional<std::string>& layer_type);

// --layout, --spacing, --base and --padding-idx. Commands declare --offset themselves.
void declare_sinusoidal_options(OptionParser& parser, SinusoidalOptions& options);

// --heads and --parameters. Commands declare --set themselves, because it may have other uses.
void declare_bias_options(OptionParser& parser, BiasOptions& options);

[[nodiscard]] std::string bias_settings_help();

}  // namespace rotary::cli
