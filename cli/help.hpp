// SPDX-License-Identifier: Apache-2.0
// The facts of commands as text: --help, manual pages, docs/tool.md.
#pragma once

#include <span>
#include <string>

#include "cli/command_line.hpp"

namespace rotary::cli {

// --help: examples first, because they are what most readers came for; 80 columns wide. The tool's
// ends with the exit codes.
[[nodiscard]] std::string help_text(const CommandFacts& command);

// A page of man(7), section 1.
[[nodiscard]] std::string manual_page(const CommandFacts& command);

// docs/tool.md.
[[nodiscard]] std::string reference_markdown(std::span<const CommandFacts> commands);

}  // namespace rotary::cli
