// SPDX-License-Identifier: Apache-2.0
#include "cli/option_parser.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace rotary::cli {

void DeclaredOption::required() { option_->required(); }

template <class Target>
CLI::Option& OptionParser::add_typed(std::string_view form, Target& target, std::string help) {
  const auto blank = form.find(' ');
  CLI::Option* option =
      app_->add_option(std::string(form.substr(0, blank)), target, std::move(help));
  if (blank != std::string_view::npos) option->type_name(std::string(form.substr(blank + 1)));
  return *option;
}

DeclaredOption OptionParser::add(std::string_view form, std::string& target, std::string help) {
  return DeclaredOption(add_typed(form, target, std::move(help)));
}

DeclaredOption OptionParser::add(std::string_view form, std::optional<std::string>& target,
                                 std::string help) {
  return DeclaredOption(add_typed(form, target, std::move(help)));
}

DeclaredOption OptionParser::add(std::string_view form, std::vector<std::string>& target,
                                 std::string help) {
  CLI::Option& option = add_typed(form, target, std::move(help));
  if (!option.get_positional()) option.allow_extra_args(false);
  return DeclaredOption(option);
}

void OptionParser::add(std::string_view form, bool& target, std::string help) {
  app_->add_flag(std::string(form), target, std::move(help));
}

void OptionParser::replace_help(const std::string& name, std::string help) {
  app_->get_option(name)->description(std::move(help));
}

void OptionParser::ignore_what_follows() { app_->allow_extras(); }

}  // namespace rotary::cli
