// SPDX-License-Identifier: Apache-2.0
// The commands of the tool. A new command needs a file, an entry in the list below, a schema in
// docs/schema/ and tests. Includes the headers that most commands need.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "apps/json.hpp"
#include "apps/printable.hpp"
#include "apps/standard_streams.hpp"
#include "cli/arguments.hpp"
#include "cli/model_input.hpp"
#include "cli/model_options.hpp"
#include "cli/option_parser.hpp"
#include "cli/shared_options.hpp"
#include "cli/text_table.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// The text for standard output, and the exit code: check_failed if the answer is no.
struct Answer {
  // NOLINTNEXTLINE(google-explicit-constructor): most commands return their text
  Answer(std::string answer_text, ExitCode code = ExitCode::ok)
      : text(std::move(answer_text)), exit_code(code) {}

  std::string text;
  ExitCode exit_code;
};

// Executes the command after its options are read. Throws Failure.
using Run = std::function<Answer(OutputForm)>;

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;      // lines, indented by 2
  Run (*declare)(OptionParser&);  // adds the command's options
  // Subcommands, as in `rotary bench attention`.
  std::span<const Command* const> commands = {};
};

template <class Arguments>
Arguments arguments_of(void (*declare)(OptionParser&, Arguments&));

// A Command::declare from two functions: `declare` adds the members of a struct as options, `run`
// executes the command.
template <auto declare, auto run>
Run declared(OptionParser& parser) {
  const auto arguments = std::make_shared<decltype(arguments_of(declare))>();
  declare(parser, *arguments);
  return [arguments](OutputForm form) -> Answer { return run(*arguments, form); };
}

extern const Command inspect_command, check_command, diff_command, table_command, rotate_command,
    encode_command, bias_command, positions_command, explain_command, claims_command, plot_command,
    report_command, models_command, permute_command, identify_command, trace_command, bench_command,
    stretch_command, help_command, completions_command;
extern const Command bench_attention_command;  // a subcommand of bench

inline constexpr std::array<const Command*, 20> all_commands = {
    &inspect_command, &check_command,   &diff_command,      &table_command,   &rotate_command,
    &encode_command,  &bias_command,    &positions_command, &explain_command, &claims_command,
    &plot_command,    &report_command,  &models_command,    &permute_command, &identify_command,
    &trace_command,   &stretch_command, &bench_command,     &help_command,    &completions_command,
};

enum class Severity { warning, unsupported, error };

// Checks the other files of a checkpoint: frequencies in shards, configs, the tokenizer's length.
// Calls add(severity, message) for each finding. The message begins with the file's name.
void check_folder(const std::string& folder, const ModelSpec& model,
                  const std::function<void(Severity, const std::string&)>& add);

}  // namespace rotary::cli
