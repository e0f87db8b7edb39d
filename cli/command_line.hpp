// SPDX-License-Identifier: Apache-2.0
// Parses the command line, and lists the options for help, manual pages, docs/tool.md, completions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/json.hpp"

namespace rotary::cli {

using Arguments = std::span<const char* const>;

struct OptionFacts {
  std::vector<std::string> names;  // "-o", "--out"; of a positional argument "CONFIG"
  std::string value;               // "FILE"; "light|dark" for one of these; empty for a flag
  std::string help;
  bool required = false;
  bool repeated = false;
};

struct CommandFacts {
  std::string name;  // "rotary", "rotary bench attention"
  std::string_view summary;
  std::string_view examples;
  std::vector<OptionFacts> arguments;
  std::vector<OptionFacts> options;
  std::vector<const Command*> commands;  // called by this one's name and their own
};

// The tool itself first, then its commands in their order, each before those called by its name.
[[nodiscard]] std::vector<CommandFacts> all_command_facts();

// The facts of "rotary bench attention". Usage failure for another name.
[[nodiscard]] CommandFacts facts_named(std::string_view name);

struct Call {
  Run run;
  OutputForm form;
};

// Returns the command, the help or the version asked for. Usage failure for a wrong command line.
[[nodiscard]] Call read_command_line(Arguments arguments);

// "rotary inspect", or "rotary" when the first argument is no command.
[[nodiscard]] std::string title(Arguments arguments);

}  // namespace rotary::cli
