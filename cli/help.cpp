// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "apps/failure.hpp"
#include "cli/arguments.hpp"
#include "cli/text_table.hpp"
#include "rotary/version.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t options_column = 26;
constexpr std::size_t commands_column = 15;
constexpr std::size_t text_width = 80;

bool is_tool(const CommandFacts& command) { return command.name == "rotary"; }

// The name, then the text in its column, wrapped between words.
std::string entry(std::size_t right_column, std::string_view name, std::string_view text) {
  std::string begin = fmt::format("  {:<{}}", name, right_column - 2);
  if (name.size() + 2 >= right_column) begin += fmt::format("\n{:{}}", "", right_column);
  return begin + wrapped(text, right_column, text_width).substr(right_column);
}

// "-o, --out FILE", "CONFIG..."
std::string form_of(const OptionFacts& option) {
  const bool positional = !option.names.front().starts_with('-');
  std::string form = fmt::format("{}", fmt::join(option.names, ", "));
  if (!positional && !option.value.empty()) form += " " + option.value;
  return option.repeated ? form + "..." : form;
}

// "rotary table NAME [OPTIONS]"
std::string usage_of(const CommandFacts& command) {
  std::string usage = command.name;
  if (is_tool(command)) usage += " COMMAND";
  for (const OptionFacts& argument : command.arguments) {
    const std::string form = form_of(argument);
    usage += argument.required ? fmt::format(" {}", form) : fmt::format(" [{}]", form);
  }
  for (const OptionFacts& option : command.options) {
    if (option.required) usage += fmt::format(" {} {}", option.names.back(), option.value);
  }
  return usage + " [OPTIONS]";
}

std::string list_text(std::string_view heading, std::span<const OptionFacts> options) {
  if (options.empty()) return "";
  std::string text = fmt::format("\n{}:\n", heading);
  for (const OptionFacts& option : options) {
    const bool long_only = option.names.front().starts_with("--");
    text += entry(options_column, (long_only ? "    " : "") + form_of(option), option.help);
  }
  return text;
}

// Escapes roff, where a leading dot or quote is a request.
std::string roff(std::string_view text) {
  std::string result;
  for (const char each : text) {
    const bool at_start = result.empty() || result.back() == '\n';
    if (at_start && (each == '.' || each == '\'')) result += "\\&";
    if (each == '\\') {
      result += "\\e";
    } else if (each == '-') {
      result += "\\-";
    } else {
      result += each;
    }
  }
  return result;
}

std::string roff_list(std::string_view heading, std::span<const OptionFacts> options) {
  if (options.empty()) return "";
  std::string text = fmt::format(".SH {}\n", heading);
  for (const OptionFacts& option : options) {
    text += fmt::format(".TP\n.B {}\n{}\n", roff(form_of(option)), roff(option.help));
  }
  return text;
}

std::string hyphenated(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

// Escapes bars, which end cells, and <, which begins HTML.
std::string cell(std::string_view text) {
  std::string result;
  for (const char each : text) {
    if (each == '|' || each == '<') result += '\\';
    result += each;
  }
  return result;
}

std::string command_markdown(const CommandFacts& command) {
  std::string examples;  // without their indent
  for (std::string_view rest = command.examples; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    examples += rest.substr(2, end - 2);
    rest.remove_prefix(end);
  }
  std::string text = fmt::format("## `{}`\n\n{}.\n\n```\n{}```\n\n`{}`\n\n", command.name,
                                 command.summary, examples, usage_of(command));
  std::vector<OptionFacts> options = command.arguments;
  std::ranges::remove_copy_if(
      command.options, std::back_inserter(options), [](const OptionFacts& option) {
        return option.names.back() == "--help" || option.names.back() == "--json" ||
               option.names.back() == "--color";
      });
  if (options.empty()) return text;
  text += "| | |\n|---|---|\n";
  for (const OptionFacts& option : options)
    text += fmt::format("| `{}` | {} |\n", cell(form_of(option)), cell(option.help));
  return text + '\n';
}

}  // namespace

std::string help_text(const CommandFacts& command) {
  std::string text = fmt::format("Examples:\n{}\n{}.\n\nUsage:\n  {}\n", command.examples,
                                 command.summary, usage_of(command));
  text += list_text("Arguments", command.arguments);
  if (!command.commands.empty()) text += "\nCommands:\n";
  for (const Command* each : command.commands)
    text += entry(commands_column, each->name, each->summary);
  text += list_text("Options", command.options);
  if (!is_tool(command)) return text;
  // Only the names, because manual pages have the meanings.
  const auto code = [](const ExitCodeFacts& each) {
    return fmt::format("{} {}", static_cast<int>(each.code), each.name);
  };
  return text + "\nExit codes:\n" + wrapped(names_text(exit_codes, code), 2, text_width);
}

std::string manual_page(const CommandFacts& command) {
  const std::string name = hyphenated(command.name);
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"rotary {}\" \"rotary manual\"\n.SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n.nf\n{}\n.fi\n.SH EXAMPLES\n.nf\n{}.fi\n",
      roff(name), ROTARY_VERSION_STRING, roff(name), roff(command.summary), roff(usage_of(command)),
      roff(command.examples));
  text += roff_list("ARGUMENTS", command.arguments);
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const Command* each : command.commands) {
    text += fmt::format(".TP\n.B {}\n{}.\n", roff(each->name), roff(each->summary));
  }
  text += roff_list("OPTIONS", command.options) + ".SH EXIT STATUS\n";
  for (const ExitCodeFacts& each : exit_codes) {
    text += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(each.code), roff(each.meaning));
  }
  text += ".SH SEE ALSO\n";
  if (!is_tool(command)) text += ".BR rotary (1)";
  for (std::string_view between = is_tool(command) ? "" : ",\n";
       const Command* each : command.commands) {
    text += fmt::format("{}.BR {} (1)", between, roff(name) + "\\-" + roff(each->name));
    between = ",\n";
  }
  return text + "\n";
}

std::string reference_markdown(std::span<const CommandFacts> commands) {
  std::string text =
      "# The tool: every command and option\n\n"
      "`rotary help --form markdown` prints this page; a test compares it.\n"
      "[Using the tool](using-the-tool.md) tells what commands are for, and what they answer.\n"
      "Every command has `--help`, which begins with examples, and `--json`, which prints one JSON "
      "object\n([schemas](schema/)); `--color auto|always|never` colours text (`auto`: on a "
      "terminal, "
      "unless `NO_COLOR` is set). `-` as an input file is standard input.\n\n| | |\n|---|---|\n";
  for (const CommandFacts& command : commands) {
    if (is_tool(command)) continue;
    text += fmt::format("| [`{}`](#{}) | {} |\n", command.name, hyphenated(command.name),
                        cell(command.summary));
  }
  text += '\n';
  for (const CommandFacts& command : commands) {
    if (!is_tool(command)) text += command_markdown(command);
  }
  text += "## Exit codes\n\n| | in JSON | |\n|---:|---|---|\n";
  for (const ExitCodeFacts& each : exit_codes) {
    text +=
        fmt::format("| {} | `{}` | {} |\n", static_cast<int>(each.code), each.name, each.meaning);
  }
  return text;
}

}  // namespace rotary::cli
