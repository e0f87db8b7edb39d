// SPDX-License-Identifier: Apache-2.0
// The options of one command, as the command declares them: help, manual page, documentation and
// completions are made of the same declarations (command_line.hpp). CLI11, which reads them, stays
// behind this header: it costs seconds in each source that sees it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rotary::cli {

class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option& option) : option_(&option) {}

  void required();
  // Given without a value it is empty.
  void value_may_be_missing();

 private:
  CLI::Option* option_;
};

// A value with the name of its option, "--text".
struct NamedValue {
  std::string name;
  std::string value;
};

class OptionParser {
 public:
  explicit OptionParser(CLI::App& app) : app_(&app) {}

  // The form is the option's names and what it takes: "-o,--out FILE", "--theme light|dark" (one of
  // these), "CONFIG" for a positional argument. A list takes one value each time its option is
  // given, a flag none. The target, which is written while the command line is read, is kept alive
  // by the command.
  DeclaredOption add(std::string_view form, std::string& target, std::string help);
  DeclaredOption add(std::string_view form, std::optional<std::string>& target, std::string help);
  DeclaredOption add(std::string_view form, std::vector<std::string>& target, std::string help);
  void add(std::string_view form, bool& target, std::string help);

  // Options with one long name each, which may be repeated, into one list in the order in which the
  // command line has them.
  void add_in_order(std::vector<NamedValue>& target,
                    const std::vector<std::pair<std::string_view, std::string>>& forms_and_helps);

  // Another help for an option that has been added.
  void replace_help(const std::string& name, std::string help);

  // Any arguments are taken, and none is read.
  void ignore_what_follows();

 private:
  template <class Target>
  CLI::Option& add_typed(std::string_view form, Target& target, std::string help);

  CLI::App* app_;
};

}  // namespace rotary::cli
