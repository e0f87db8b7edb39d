// SPDX-License-Identifier: Apache-2.0
#include "cli/warning.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cli/utf8.hpp"

namespace rotary::cli {

void print_warnings(std::string_view command, std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) {
    fmt::print(stderr, "rotary {}: warning: {}\n", command, printable(warning));
  }
}

}  // namespace rotary::cli
