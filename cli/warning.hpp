// SPDX-License-Identifier: Apache-2.0
// Warnings go to standard error, one line each; nothing else about the command changes.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rotary::cli {

// "rotary inspect: warning: ..."
void print_warnings(std::string_view command, std::span<const std::string> warnings);

}  // namespace rotary::cli
