// SPDX-License-Identifier: Apache-2.0
// The text of --help: examples first, because they are what most readers came for, then usage and
// options, 80 columns wide.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands/commands.hpp"

namespace rotary::cli {

// Of `rotary --help`: ends with the exit codes.
[[nodiscard]] std::string root_help(const CLI::App& root);

// Of `rotary COMMAND --help`.
[[nodiscard]] std::string command_help(const CLI::App& app, const Command& command);

}  // namespace rotary::cli
