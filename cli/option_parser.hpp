// SPDX-License-Identifier: Apache-2.0
// The options of one command, as the command declares them. CLI11, which reads them, stays behind
// this header: it costs seconds in each source that sees it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rotary::cli {

class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option& option) : option_(&option) {}

  DeclaredOption& type_name(std::string name);  // what it takes, for help: FILE, N
  DeclaredOption& required();
  DeclaredOption& repeated_for_more();  // of a list: one value each time it is given
  [[nodiscard]] std::string help() const;
  void set_help(std::string help);

 private:
  CLI::Option* option_;
};

class OptionParser {
 public:
  explicit OptionParser(CLI::App& app) : app_(&app) {}

  // A name without dashes is that of a positional argument. The target, which is written while the
  // command line is read, is kept alive by the command.
  DeclaredOption add_option(std::string name, std::string& target, std::string help);
  DeclaredOption add_option(std::string name, std::optional<std::string>& target, std::string help);
  DeclaredOption add_option(std::string name, std::vector<std::string>& target, std::string help);
  void add_flag(std::string name, bool& target, std::string help);

  // Any arguments are taken, and none is read.
  void ignore_what_follows();

  // One that has been added.
  [[nodiscard]] DeclaredOption option(const std::string& name);

 private:
  CLI::App* app_;
};

}  // namespace rotary::cli
