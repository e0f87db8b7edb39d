// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/help.hpp"

namespace rotary::cli {
namespace {

std::string words_of(const CommandFacts& command) {
  std::string words;
  for (const Command* each : command.commands) words += fmt::format("{} ", each->name);
  for (const OptionFacts& option : command.options) {
    words += fmt::format("{} ", fmt::join(option.names, " "));
  }
  if (!words.empty()) words.pop_back();
  return words;
}

// "light dark" for "light|dark"; empty for an option without choices.
std::string choices_of(const OptionFacts& option) {
  if (option.value.find('|') == std::string::npos) return "";
  std::string choices = option.value;
  std::ranges::replace(choices, '|', ' ');
  return choices;
}

bool takes_config(const CommandFacts& command) {
  const auto names_card = [](const OptionFacts& argument) {
    return argument.help.find("model card") != std::string::npos;
  };
  return std::ranges::any_of(command.arguments, names_card);
}

std::string single_quoted(std::string_view text) {
  std::string result;
  for (const char each : text) result += each == '\'' ? "'\\''" : std::string(1, each);
  return result;
}

// "bench attention" for "rotary bench attention"; empty for the tool.
std::string_view subcommand(const CommandFacts& command) {
  const std::string_view name = command.name;
  return name.substr(std::min(name.size(), std::string_view("rotary ").size()));
}

std::string bash_function(std::span<const CommandFacts> commands,
                          std::span<const std::string_view> cards) {
  std::string text = fmt::format(
      "_rotary() {{\n"
      "  local word=\"$2\" before=\"$3\" command=\"${{COMP_WORDS[1]}}\" words='' values=''\n"
      "  local cards='{}'\n"
      "  [[ $COMP_CWORD -eq 1 ]] && command=''\n"
      "  [[ $COMP_CWORD -gt 2 && ${{COMP_WORDS[1]}} == bench && ${{COMP_WORDS[2]}} == attention ]] "
      "&& command='bench attention'\n"
      "  case \"$command\" in\n",
      fmt::join(cards, " "));
  for (const CommandFacts& command : commands) {
    text += fmt::format("    '{}')\n      words='{}'\n", subcommand(command), words_of(command));
    if (takes_config(command)) text += "      words+=\" $cards\"\n";
    text += "      case \"$before\" in\n";
    for (const OptionFacts& option : command.options) {
      if (const std::string choices = choices_of(option); !choices.empty()) {
        text += fmt::format("        {}) values='{}' ;;\n", fmt::join(option.names, "|"), choices);
      }
    }
    text += "      esac ;;\n";
  }
  return text +
         "  esac\n"
         "  mapfile -t COMPREPLY < <(\n"
         "    compgen -W \"${values:-$words}\" -- \"$word\"\n"
         "    [[ -z $values && $COMP_CWORD -gt 1 && $word != -* ]] && compgen -f -- \"$word\")\n"
         "  return 0\n"
         "}\n";
}

// Escapes text inside the brackets of an option specification for zsh's _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char each : text) {
    if (each == '[' || each == ']' || each == ':') result += '\\';
    result += each;
  }
  return single_quoted(result);
}

std::string zsh_option(const OptionFacts& option) {
  std::string line = "        ";
  if (option.names.size() > 1) {
    line += fmt::format("'({})'{{{}}}", fmt::join(option.names, " "), fmt::join(option.names, ","));
  } else {
    line += (option.repeated ? "'*'" : "") + option.names.front();
  }
  line += fmt::format("'[{}]", zsh_text(option.help));
  const std::string choices = choices_of(option);
  if (!choices.empty()) {
    line += fmt::format(":value:({})", choices);
  } else if (!option.value.empty()) {
    line += fmt::format(":{}:_files", zsh_text(option.value));
  }
  return line + "' \\\n";
}

std::string zsh_script(std::span<const CommandFacts> commands,
                       std::span<const std::string_view> cards) {
  std::string names;
  std::string cases;
  for (const CommandFacts& command : commands) {
    const std::string_view name = subcommand(command);
    if (name.empty()) {
      for (const Command* each : command.commands) {
        names += fmt::format("    '{}:{}'\n", each->name, zsh_text(each->summary));
      }
      continue;
    }
    cases += fmt::format("    '{}')\n      _arguments -s \\\n", name);
    for (const OptionFacts& option : command.options) cases += zsh_option(option);
    std::string others = takes_config(command) ? "$cards" : "";
    for (const Command* each : command.commands) others += fmt::format(" {}", each->name);
    cases += fmt::format("        '*: :{{_files; compadd -- {}}}' ;;\n", others);
  }
  return fmt::format(
      "#compdef rotary\n"
      "_rotary() {{\n"
      "  local -a commands=(\n{}  )\n"
      "  local -a cards=({})\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words; (( CURRENT-- ))\n"
      "  local command=$words[1]\n"
      "  if [[ $command == bench && $words[2] == attention && $CURRENT -gt 2 ]]; then\n"
      "    command='bench attention'; shift words; (( CURRENT-- ))\n"
      "  fi\n"
      "  case $command in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _rotary ]]; then _rotary \"$@\"; else compdef _rotary rotary; fi\n",
      names, fmt::join(cards, " "), cases);
}

std::string fish_script(std::span<const CommandFacts> commands,
                        std::span<const std::string_view> cards) {
  std::string text;
  for (const CommandFacts& command : commands) {
    const std::string_view name = subcommand(command);
    std::string condition = "__fish_use_subcommand";
    if (!name.empty()) {
      condition = "__fish_seen_subcommand_from " + std::string(name.substr(name.rfind(' ') + 1));
    }
    for (const Command* each : command.commands) {
      text += fmt::format("complete -c rotary -n '{}' -f -a {} -d '{}'\n", condition, each->name,
                          single_quoted(each->summary));
    }
    for (const OptionFacts& option : command.options) {
      text += fmt::format("complete -c rotary -n '{}'", condition);
      for (const std::string& each : option.names)
        text += each.starts_with("--") ? fmt::format(" -l {}", each.substr(2))
                                       : fmt::format(" -s {}", each.substr(1));
      if (!option.value.empty()) text += " -r";
      if (const std::string choices = choices_of(option); !choices.empty())
        text += fmt::format(" -f -a '{}'", choices);
      text += fmt::format(" -d '{}'\n", single_quoted(option.help));
    }
    if (takes_config(command)) {
      text += fmt::format("complete -c rotary -n '{}' -a '{}'\n", condition, fmt::join(cards, " "));
    }
  }
  return text;
}

}  // namespace

std::string completions(Shell shell, std::span<const CommandFacts> commands,
                        std::span<const std::string_view> cards) {
  switch (shell) {
    case Shell::bash:
      return bash_function(commands, cards) + "complete -o filenames -F _rotary rotary\n";
    case Shell::zsh:
      return zsh_script(commands, cards);
    case Shell::fish:
      return fish_script(commands, cards);
  }
  return "";
}

}  // namespace rotary::cli
