// SPDX-License-Identifier: Apache-2.0
// The tool: runs a command, and turns a failure into a message on standard error, an exit code and,
// with --json, an error object on standard output.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "apps/failure.hpp"
#include "apps/json.hpp"
#include "apps/partial_file.hpp"
#include "apps/printable.hpp"
#include "apps/standard_streams.hpp"
#include "cli/command_line.hpp"

namespace rotary::cli {
namespace {

// Returns the failure's exit code, even if writing to standard output fails, too.
int report(Arguments arguments, const Failure& failure) {
  const std::string name = title(arguments);
  std::string text = fmt::format("{}: {}\n", name, printable(failure.what()));
  if (failure.exit_code() == ExitCode::usage)
    text += fmt::format("`{} --help` shows examples and options.\n", name);
  if (failure.exit_code() == ExitCode::internal)
    text += "This is a bug in rotary, or the machine is out of memory.\n";
  write_standard_error(text);
  try {
    // Does not call the parser, because the failure may be the parser's.
    if (std::ranges::find(arguments, std::string_view("--json")) == arguments.end())
      return static_cast<int>(failure.exit_code());
    write_standard_output(printed({{"schema_version", 1},
                                   {"error",
                                    {{"code", to_string(failure.exit_code())},
                                     {"message", failure.what()},
                                     {"exit_code", static_cast<int>(failure.exit_code())}}}}));
  } catch (const Failure& second) {
    write_standard_error(fmt::format("{}: {}\n", name, second.what()));
  }
  return static_cast<int>(failure.exit_code());
}

int run_and_report(Arguments arguments) {
  std::optional<Answer> answer;
  try {
    const Call call = read_command_line(arguments);
    answer = call.run(call.form);
  } catch (const Failure& failure) {
    return report(arguments, failure);
  } catch (const std::bad_alloc&) {
    return report(arguments, Failure(ExitCode::internal, "out of memory"));
  } catch (const std::exception& error) {
    return report(arguments, Failure(ExitCode::internal, error.what()));
  }
  try {
    write_standard_output(answer->text);
    return static_cast<int>(answer->exit_code);
  } catch (const Failure& failure) {
    // Prints no error object, because it would follow a part of the answer.
    write_standard_error(fmt::format("{}: {}; output files, if any, are written\n",
                                     title(arguments), failure.what()));
    return static_cast<int>(failure.exit_code());
  }
}

}  // namespace
}  // namespace rotary::cli

int main(int argument_count, char** arguments) {
  using namespace rotary::cli;
  std::set_terminate([] {  // in place of abort(), if memory runs out in a noexcept function
    Made::remove_all();
    static_cast<void>(write_all(
        STDERR_FILENO, "rotary: this is a bug in rotary, or the machine is out of memory\n"));
    std::_Exit(static_cast<int>(ExitCode::internal));
  });
  if (!reserve_standard_descriptors()) return static_cast<int>(ExitCode::io);
  try {
    return run_and_report({arguments, static_cast<std::size_t>(argument_count)});
  } catch (...) {  // no memory even for the message
    static_cast<void>(write_all(STDERR_FILENO, "rotary: out of memory\n"));
    return static_cast<int>(ExitCode::internal);
  }
}
