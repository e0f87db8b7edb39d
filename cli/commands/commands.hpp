// SPDX-License-Identifier: Apache-2.0
// The commands of the tool: one file each, one row each in the list below. A new command is a new
// file, a row here, a schema in docs/schema/ and its tests.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/option_parser.hpp"
#include "cli/output_form.hpp"

namespace rotary::cli {

// Does the work after the command line has been read; returns what goes to standard output, and
// throws Failure.
using Run = std::function<std::string(OutputForm)>;

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;      // lines, indented by 2
  Run (*declare)(OptionParser&);  // adds the command's options to its own app
  // Those that are called by this one's name and their own.
  std::span<const Command* const> commands = {};
};

extern const Command inspect_command;
extern const Command table_command;
extern const Command rotate_command;
extern const Command encode_command;
extern const Command explain_command;
extern const Command plot_command;
extern const Command report_command;
extern const Command models_command;
extern const Command bench_command;
extern const Command bias_command;
extern const Command claims_command;
extern const Command help_command;
extern const Command completions_command;
extern const Command bench_attention_command;  // of bench

inline constexpr std::array<const Command*, 13> all_commands = {
    &inspect_command, &table_command,  &rotate_command,      &encode_command, &bias_command,
    &explain_command, &claims_command, &plot_command,        &report_command, &models_command,
    &bench_command,   &help_command,   &completions_command,
};

}  // namespace rotary::cli
