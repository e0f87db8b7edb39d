// SPDX-License-Identifier: Apache-2.0
#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace rotary::cli {
namespace {

constexpr std::size_t right_column = 26;
constexpr std::size_t text_width = 80;

constexpr std::string_view root_examples =
    R"(Examples:
  rotary inspect config.json
      what a model's config says about positions: pairing, base, rule, wavelengths
  rotary table config.json --positions 0:16
      the cos and sin rows, the first thing to compare when porting a model
  rotary table whisper --dim 8 --positions 0:4
      the same of an encoding without a config: sinusoidal, T5, ALiBi, KERPLE, ...
  rotary rotate --config config.json --layout bthd --q q.npy --out-q q_rotated.npy
      rotate queries or keys that NumPy saved
  rotary bias alibi --heads 4 --rows 0:6 --cols 0:6
      what a relative encoding (T5, ALiBi, KERPLE, FIRE, Sandwich) adds to the scores
  rotary report llama-3.1-8b qwen2.5-7b -o page.html
      two models side by side, with charts, as a page that opens without a network
  rotary plot wavelengths llama-3.1-8b
      pictures: wavelengths, scaling rules, decay, similarity, attention, ...
  rotary models search gemma
      configs of public models that every command takes by name
  rotary explain config.json
      what each key of a config does to positions, in numbers
  rotary explain --values 0.5,-1,1.5,2 --position 3 --pairing interleaved
      rotary embedding, step by step, on numbers you can check by hand
  rotary claims
      what is said of position encodings, judged by computing it
  rotary bench
      how close the rotation comes to what the memory of this machine allows
)";

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> exit_codes = {{
    {"0", "ok"},
    {"1", "a check failed"},
    {"2", "usage: the command line asks for something that cannot be"},
    {"3", "malformed input: a file is not what its format requires"},
    {"4", "I/O: a file cannot be read or written"},
    {"5", "unsupported: well-formed, but this version or machine cannot do it"},
    {"70", "a bug in rotary, or out of memory"},
}};

// name, then text in the right column, broken between words.
std::string entry(std::string_view name, std::string_view text) {
  std::string lines = fmt::format("  {:<{}}", name, right_column - 2);
  if (name.size() + 2 >= right_column) lines += fmt::format("\n{:{}}", "", right_column);
  std::size_t column = right_column;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > right_column && column + 1 + word.size() > text_width) {
      lines += fmt::format("\n{:{}}", "", right_column);
      column = right_column;
    }
    if (column > right_column) lines += ' ';
    column += word.size() + (column > right_column ? 1 : 0);
    lines += word;
  }
  return lines + '\n';
}

std::string option_name(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false);
  std::string name = fmt::format(
      "{}", option.get_snames().empty() ? "    " : "-" + option.get_snames().front() + ", ");
  name += "--" + option.get_lnames().front();
  if (option.get_type_size() != 0) name += " " + option.get_type_name();
  return name;
}

std::string options_text(const CLI::App& app) {
  std::string arguments;
  std::string options;
  for (const CLI::Option* option : app.get_options()) {
    std::string& list = option->get_positional() ? arguments : options;
    list += entry(option_name(*option), option->get_description());
  }
  return (arguments.empty() ? "" : "\nArguments:\n" + arguments) + "\nOptions:\n" + options;
}

}  // namespace

std::string root_help(const CLI::App& root) {
  std::string text(root_examples);
  text += "\nUsage: rotary COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Command* command : commands) text += entry(command->name, command->summary);
  text += "\n`rotary COMMAND --help` shows the examples and options of one command.\n";
  text += options_text(root);
  text += "\nExit codes:\n";
  for (const auto& [code, meaning] : exit_codes)
    text += fmt::format("  {:>2}  {}\n", code, meaning);
  return text;
}

std::string command_help(const CLI::App& app, const Command& command) {
  std::string inner;
  for (const Command* each : command.commands) inner += entry(each->name, each->summary);
  return fmt::format("Examples:\n{}\n{}.\n\nUsage:\n{}{}{}", command.examples, command.summary,
                     command.usage, inner.empty() ? "" : "\nCommands:\n" + inner,
                     options_text(app));
}

}  // namespace rotary::cli
