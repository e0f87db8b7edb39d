// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/descriptor.hpp"
#include "cli/failure.hpp"
#include "cli/help.hpp"
#include "cli/json_writer.hpp"
#include "cli/option_parser.hpp"
#include "cli/printable.hpp"
#include "cli/standard_streams.hpp"
#include "rotary/version.hpp"

namespace rotary::cli {
namespace {

using Arguments = std::span<const char* const>;

struct DeclaredCommand {
  CLI::App* app;
  Run run;
};

// Those of a command come before it: where one of them was called, so was the command.
void declare(const Command& command, CLI::App& parent, std::vector<DeclaredCommand>& declared) {
  CLI::App* app = parent.add_subcommand(std::string(command.name), std::string(command.summary));
  app->formatter(std::make_shared<CLI::FormatterLambda>(
      [&command](const CLI::App* self, const std::string&, CLI::AppFormatMode) {
        return command_help(*self, command);
      }));
  for (const Command* inner : command.commands) declare(*inner, *app, declared);
  OptionParser parser(*app);
  declared.push_back({.app = app, .run = command.declare(parser)});
  app->add_flag("--json")->description("print one JSON object (docs/schema/)");
}

std::vector<DeclaredCommand> declare_commands(CLI::App& root) {
  std::vector<DeclaredCommand> declared;
  for (const Command* command : commands) declare(*command, root, declared);
  return declared;
}

// `rotary bench --tokens 1 attention` would be read, and the option lost.
void check_options_before(const CLI::App& app) {
  for (const CLI::Option* option : app.get_parent()->get_options()) {
    if (option->count() == 0) continue;
    throw Failure(ExitCode::usage,
                  fmt::format("options of {} must stand after its name, got {} before it",
                              app.get_name(), option->get_name()));
  }
}

// CLI11 would only say that an argument was not expected.
void check_first_argument(Arguments arguments) {
  const bool given = arguments.size() > 1;
  for (const std::string_view flag : {"-h", "--help", "--version"}) {
    if (given && flag == arguments[1]) return;
  }
  std::string names;
  for (const Command* command : commands) {
    if (given && command->name == arguments[1]) return;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command->name);
  }
  throw Failure(ExitCode::usage,
                given ? fmt::format("the command must be one of {}, got '{}'", names, arguments[1])
                      : fmt::format("a command is required: one of {}", names));
}

// CLI11 knows a dozen reasons; for a script they are one.
std::string run_command(Arguments arguments) {
  check_first_argument(arguments);
  CLI::App root("Position encodings for transformers");
  root.formatter(
      std::make_shared<CLI::FormatterLambda>([](const CLI::App* self, const std::string&,
                                                CLI::AppFormatMode) { return root_help(*self); }));
  root.set_help_flag("-h,--help", "print help, examples first");
  root.set_version_flag("--version", "rotary " ROTARY_VERSION_STRING)
      ->description("print the version");
  root.require_subcommand(1);
  const std::vector<DeclaredCommand> declared = declare_commands(root);
  try {
    root.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    const auto chosen = root.get_subcommands();
    return chosen.empty() ? root.help() : chosen.front()->help();
  } catch (const CLI::CallForVersion&) {
    return "rotary " ROTARY_VERSION_STRING "\n";
  } catch (const CLI::ParseError& error) {
    throw Failure(ExitCode::usage, error.what());
  }
  for (const auto& [app, run] : declared) {
    if (!app->parsed()) continue;
    check_options_before(*app);
    return run(app->count("--json") > 0 ? OutputForm::json : OutputForm::text);
  }
  throw Failure(ExitCode::internal, "no command ran");
}

// Also when the command line itself is what failed, so read without the parser.
bool wants_json(Arguments arguments) {
  for (const std::string_view argument : arguments) {
    if (argument == "--json") return true;
  }
  return false;
}

// "rotary inspect", or "rotary" when the first argument is no command.
std::string title(Arguments arguments) {
  for (const Command* command : commands) {
    if (arguments.size() > 1 && command->name == arguments[1]) {
      return fmt::format("rotary {}", command->name);
    }
  }
  return "rotary";
}

std::string error_json(const Failure& failure) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.key("error");
  json.begin_object();
  json.member("code", to_string(failure.exit_code()));
  json.member("message", std::string_view(failure.what()));
  json.member("exit_code", static_cast<int>(failure.exit_code()));
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

// Standard output may be what failed; the exit code stays that of the failure.
int report(Arguments arguments, const Failure& failure) {
  const std::string name = title(arguments);
  std::string text = fmt::format("{}: {}\n", name, printable(failure.what()));
  if (failure.exit_code() == ExitCode::usage) {
    text += fmt::format("`{} --help` shows examples and options.\n", name);
  }
  if (failure.exit_code() == ExitCode::internal) {
    text += "This is a bug in rotary, or the machine is out of memory.\n";
  }
  write_standard_error(text);
  try {
    if (wants_json(arguments)) write_standard_output(error_json(failure));
  } catch (const Failure& second) {
    write_standard_error(fmt::format("{}: {}\n", name, second.what()));
  }
  return static_cast<int>(failure.exit_code());
}

// The work is done, so there is no error object: it would stand behind the beginning of an answer.
int report_lost_answer(Arguments arguments, const Failure& failure) {
  write_standard_error(
      fmt::format("{}: {}; output files, if any, are written\n", title(arguments), failure.what()));
  return static_cast<int>(failure.exit_code());
}

int run_and_report(Arguments arguments) {
  std::string answer;
  try {
    answer = run_command(arguments);
  } catch (const Failure& failure) {
    return report(arguments, failure);
  } catch (const std::bad_alloc&) {
    return report(arguments, Failure(ExitCode::internal, "out of memory"));
  } catch (const std::exception& error) {
    return report(arguments, Failure(ExitCode::internal, error.what()));
  }
  try {
    write_standard_output(answer);
    return static_cast<int>(ExitCode::ok);
  } catch (const Failure& failure) {
    return report_lost_answer(arguments, failure);
  }
}

}  // namespace

int run(int argument_count, const char* const* arguments) noexcept {
  try {
    return run_and_report({arguments, static_cast<std::size_t>(argument_count)});
  } catch (...) {  // no memory for the message either
    static_cast<void>(write_all(STDERR_FILENO, "rotary: out of memory\n"));
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace rotary::cli
