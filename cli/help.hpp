// SPDX-License-Identifier: Apache-2.0
// The facts of commands as text: --help, manual pages, docs/tool.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_line.hpp"

namespace rotary::cli {

// --help: examples first, 80 columns wide; the tool's own ends with the exit codes.
[[nodiscard]] std::string help_text(const CommandFacts& command);

// A page of man(7), section 1.
[[nodiscard]] std::string manual_page(const CommandFacts& command);

// docs/tool.md.
[[nodiscard]] std::string reference_markdown(std::span<const CommandFacts> commands);

// Scripts with which a shell completes commands, options, their values, card names and files.

enum class Shell { bash, zsh, fish };

[[nodiscard]] std::string completions(Shell shell, std::span<const CommandFacts> commands,
                                      std::span<const std::string_view> cards);

}  // namespace rotary::cli
