// SPDX-License-Identifier: Apache-2.0
// How the tool ends. The numbers are part of its interface: scripts branch on them (docs/tool.md).
#pragma once

#include <string_view>

namespace rotary::cli {

enum class ExitCode : int {
  ok = 0,
  check_failed = 1,     // the command ran; what it checked did not hold
  usage = 2,            // the command line asks for something that cannot be
  malformed_input = 3,  // a file is not what its format requires
  io = 4,               // a file cannot be read or written
  unsupported = 5,      // well-formed, but this version or this machine cannot do it
  internal = 70,        // our bug, or out of memory
};

// "usage", "malformed_input", ...: the code of an error in JSON.
[[nodiscard]] constexpr std::string_view to_string(ExitCode exit_code) noexcept {
  switch (exit_code) {
    case ExitCode::ok:
      return "ok";
    case ExitCode::check_failed:
      return "check_failed";
    case ExitCode::usage:
      return "usage";
    case ExitCode::malformed_input:
      return "malformed_input";
    case ExitCode::io:
      return "io";
    case ExitCode::unsupported:
      return "unsupported";
    case ExitCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace rotary::cli
