// SPDX-License-Identifier: Apache-2.0
// How the tool ends. The numbers are part of its interface: scripts branch on them (docs/tool.md).
#pragma once

#include <array>
#include <string_view>

namespace rotary::cli {

enum class ExitCode : int {
  ok = 0,
  check_failed = 1,
  usage = 2,
  malformed_input = 3,
  io = 4,
  unsupported = 5,
  internal = 70,
};

struct ExitCodeFacts {
  ExitCode code;
  std::string_view name;  // the code of an error in JSON
  std::string_view meaning;
};

inline constexpr std::array<ExitCodeFacts, 7> exit_codes = {{
    {ExitCode::ok, "ok", "ok"},
    {ExitCode::check_failed, "check_failed", "a check failed"},
    {ExitCode::usage, "usage", "usage: the command line asks for something that cannot be"},
    {ExitCode::malformed_input, "malformed_input",
     "malformed input: a file is not what its format requires"},
    {ExitCode::io, "io", "I/O: a file cannot be read or written"},
    {ExitCode::unsupported, "unsupported",
     "unsupported: well-formed, but this version or machine cannot do it"},
    {ExitCode::internal, "internal", "a bug in rotary, or out of memory"},
}};

[[nodiscard]] constexpr std::string_view to_string(ExitCode exit_code) noexcept {
  for (const ExitCodeFacts& facts : exit_codes) {
    if (facts.code == exit_code) return facts.name;
  }
  return "internal";
}

}  // namespace rotary::cli
