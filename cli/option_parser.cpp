// SPDX-License-Identifier: Apache-2.0
#include "cli/option_parser.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <map>
#include <utility>

namespace rotary::cli {
namespace {

constexpr int most_repeats = 1 << 20;

}  // namespace

void DeclaredOption::required() { option_->required(); }

void DeclaredOption::value_may_be_missing() { option_->expected(0, 1); }

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

void OptionParser::add_in_order(
    std::vector<NamedValue>& target,
    const std::vector<std::pair<std::string_view, std::string>>& forms_and_helps) {
  std::map<const CLI::Option*, std::size_t> read;  // how many values of each option
  for (const auto& [form, help] : forms_and_helps) {
    const auto blank = form.find(' ');
    CLI::Option* option = app_->add_option(std::string(form.substr(0, blank)));
    option->description(help);
    option->type_name(std::string(form.substr(blank + 1)))->type_size(1)->expected(1, most_repeats);
    option->allow_extra_args(false);
    read[option] = 0;
  }
  app_->parse_complete_callback([app = app_, &target, read]() mutable {
    for (const CLI::Option* option : app->parse_order()) {
      const auto found = read.find(option);
      if (found == read.end()) continue;
      target.push_back({option->get_name(), option->results().at(found->second++)});
    }
  });
}

void OptionParser::replace_help(const std::string& name, std::string help) {
  app_->get_option(name)->description(std::move(help));
}

void OptionParser::ignore_what_follows() { app_->allow_extras(); }

}  // namespace rotary::cli
