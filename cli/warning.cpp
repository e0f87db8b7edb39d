// SPDX-License-Identifier: Apache-2.0
#include "cli/warning.hpp"

#include <fmt/format.h>

#include "cli/printable.hpp"
#include "cli/standard_streams.hpp"

namespace rotary::cli {

void print_warnings(std::string_view command, std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) {
    write_standard_error(fmt::format("rotary {}: warning: {}\n", command, printable(warning)));
  }
}

}  // namespace rotary::cli
