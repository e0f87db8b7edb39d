// SPDX-License-Identifier: Apache-2.0
// Scripts with which a shell completes commands, options, their values, card names and files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_line.hpp"

namespace rotary::cli {

enum class Shell { bash, zsh, fish };

[[nodiscard]] std::string completions(Shell shell, std::span<const CommandFacts> commands,
                                      std::span<const std::string_view> cards);

}  // namespace rotary::cli
