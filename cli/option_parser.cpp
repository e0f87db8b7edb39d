// SPDX-License-Identifier: Apache-2.0
#include "cli/option_parser.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace rotary::cli {

DeclaredOption& DeclaredOption::type_name(std::string name) {
  option_->type_name(std::move(name));
  return *this;
}

DeclaredOption& DeclaredOption::required() {
  option_->required();
  return *this;
}

DeclaredOption& DeclaredOption::repeated_for_more() {
  option_->allow_extra_args(false);
  return *this;
}

std::string DeclaredOption::help() const { return option_->get_description(); }

void DeclaredOption::set_help(std::string help) { option_->description(std::move(help)); }

DeclaredOption OptionParser::add_option(std::string name, std::string& target, std::string help) {
  return DeclaredOption(*app_->add_option(std::move(name), target, std::move(help)));
}

DeclaredOption OptionParser::add_option(std::string name, std::optional<std::string>& target,
                                        std::string help) {
  return DeclaredOption(*app_->add_option(std::move(name), target, std::move(help)));
}

DeclaredOption OptionParser::add_option(std::string name, std::vector<std::string>& target,
                                        std::string help) {
  return DeclaredOption(*app_->add_option(std::move(name), target, std::move(help)));
}

void OptionParser::add_flag(std::string name, bool& target, std::string help) {
  app_->add_flag(std::move(name), target, std::move(help));
}

void OptionParser::ignore_what_follows() { app_->allow_extras(); }

DeclaredOption OptionParser::option(const std::string& name) {
  return DeclaredOption(*app_->get_option(name));
}

}  // namespace rotary::cli
