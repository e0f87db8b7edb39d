// SPDX-License-Identifier: Apache-2.0
// Parses the command line. Lists the options for help, manual pages, docs/tool.md and completions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "cli/commands/commands.hpp"

namespace rotary::cli {

using Arguments = std::span<const char* const>;

struct OptionFacts {
  std::vector<std::string> names = {};  // "-o", "--out"; a positional argument has "CONFIG"
  std::string value;                    // "FILE"; "light|dark" for a choice; empty for a flag
  std::string help;
  bool required = false;
  bool repeated = false;
};

struct CommandFacts {
  std::string name;  // "rotary", "rotary bench attention"
  std::string_view summary;
  std::string_view examples;
  std::vector<OptionFacts> arguments = {};
  std::vector<OptionFacts> options = {};
  std::vector<const Command*> commands;  // subcommands
};

// The tool first, then the commands in order, each before its subcommands.
[[nodiscard]] std::vector<CommandFacts> all_command_facts();

// The facts of a command such as "rotary bench attention". Fails as wrong usage for other names.
[[nodiscard]] CommandFacts facts_named(std::string_view name);

struct Call {
  Run run;
  OutputForm form;
};

// Returns the command to run, or the requested help or version. Fails as wrong usage.
[[nodiscard]] Call read_command_line(Arguments arguments);

// "rotary inspect"; "rotary" if the first argument is no command.
[[nodiscard]] std::string title(Arguments arguments);

}  // namespace rotary::cli
