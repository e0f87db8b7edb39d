// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include "cli/command_line.hpp"
#include "cli/commands/commands.hpp"
#include "cli/model_cards.hpp"

namespace rotary::cli {
namespace help_call {
namespace {

enum class HelpForm { text, markdown, man };

struct Asked {
  std::vector<std::string> command;
  HelpForm form = HelpForm::text;
  std::optional<std::string> pages;
};

Json option_json(const OptionFacts& option) {
  return {{"names", option.names},
          {"value", text_or_null(option.value)},
          {"help", option.help},
          {"required", option.required},
          {"repeated", option.repeated}};
}

Json json_of(const CommandFacts& command) {
  return {{"schema_version", 1},
          {"command", command.name},
          {"summary", command.summary},
          {"examples", command.examples},
          {"arguments", json_array(command.arguments, option_json)},
          {"options", json_array(command.options, option_json)},
          {"commands",
           json_array(command.commands, [](const Command* each) { return Json(each->name); })}};
}

std::string run_help(Asked& asked, OutputForm output) {
  if (asked.pages) {
    std::vector<StreamedFile> files;
    for (const CommandFacts& command : all_command_facts()) {
      std::string page = command.name;
      std::ranges::replace(page, ' ', '-');
      files.push_back({.path = fmt::format("{}/{}.1", *asked.pages, page),
                       .fill = [text = manual_page(command)](const Write& write) { write(text); }});
    }
    write_files(files, Overwrite::allow);
    return fmt::format("{}: {} manual pages\n", *asked.pages, files.size());
  }
  if (asked.form == HelpForm::markdown) return reference_markdown(all_command_facts());
  asked.command.insert(asked.command.begin(), "rotary");
  const CommandFacts facts = facts_named(fmt::format("{}", fmt::join(asked.command, " ")));
  if (output == OutputForm::json) return printed(json_of(facts));
  return asked.form == HelpForm::man ? manual_page(facts) : help_text(facts);
}

void declare_help(OptionParser& parser, Asked& asked) {
  parser.add("COMMAND", asked.command, "a command's name, such as bench attention");
  parser.add(
      "--form", asked.form,
      one_named<HelpForm>(
          {{"text", HelpForm::text}, {"markdown", HelpForm::markdown}, {"man", HelpForm::man}}),
      "as --help shows it (text), the page of all commands (docs/tool.md), a manual page");
  parser.add("--man-pages FOLDER", asked.pages, "write every command's manual page there");
  parser.alone("--man-pages");
  parser.only({"COMMAND"}, "--form text or man: markdown has all commands",
              [&asked] { return asked.form != HelpForm::markdown; });
}

using NamedShell = std::pair<std::string_view, Shell>;
constexpr std::array<NamedShell, 3> shells = {
    {{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}}};

std::string run_completions(const NamedShell& shell, OutputForm form) {
  std::vector<std::string_view> cards;
  for (const ModelCard& card : model_cards()) cards.push_back(card.name);
  std::string script = completions(shell.second, all_command_facts(), cards);
  if (form == OutputForm::text) return script;
  return printed({{"schema_version", 1}, {"shell", shell.first}, {"script", script}});
}

void declare_completions(OptionParser& parser, NamedShell& shell) {
  parser.add("SHELL", shell, one_by(&NamedShell::first, shells), "bash, zsh or fish").required();
}

}  // namespace
}  // namespace help_call

constinit const Command help_command{
    .name = "help",
    .summary = "Show the examples and options of a command",
    .examples =
        "  rotary help table\n"
        "  rotary help bench attention\n"
        "  rotary help inspect --form man | man -l -\n",
    .declare = declared<help_call::declare_help, help_call::run_help>,
};

constinit const Command completions_command{
    .name = "completions",
    .summary = "Print the script with which a shell completes rotary's options",
    .examples =
        "  rotary completions bash > ~/.local/share/bash-completion/completions/rotary\n"
        "  rotary completions zsh > ~/.zfunc/_rotary\n"
        "  rotary completions fish > ~/.config/fish/completions/rotary.fish\n",
    .declare = declared<help_call::declare_completions, help_call::run_completions>,
};

}  // namespace rotary::cli
