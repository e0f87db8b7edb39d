// SPDX-License-Identifier: Apache-2.0
// Writes the facts of commands as --help, manual pages, docs/tool.md and shell completions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_line.hpp"

namespace rotary::cli {

// --help with examples first, 80 columns wide. The tool's own help ends with the exit codes.
[[nodiscard]] std::string help_text(const CommandFacts& command);

// A page for man(7), section 1.
[[nodiscard]] std::string manual_page(const CommandFacts& command);

// The text of docs/tool.md.
[[nodiscard]] std::string reference_markdown(std::span<const CommandFacts> commands);

enum class Shell { bash, zsh, fish };

// A shell script that completes commands, options, values, card names and files.
[[nodiscard]] std::string completions(Shell shell, std::span<const CommandFacts> commands,
                                      std::span<const std::string_view> cards);

}  // namespace rotary::cli
