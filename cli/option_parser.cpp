// SPDX-License-Identifier: Apache-2.0
#include "cli/option_parser.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <map>

#include "apps/failure.hpp"

namespace rotary::cli {
namespace {

// CLI11 obeys allow_extra_args(false) only with this count, which means "any number" to CLI11.
constexpr int most_repeats = CLI::detail::expected_max_vector_size;

}  // namespace

void DeclaredOption::required() { option_->required(); }

void DeclaredOption::value_may_be_missing() { option_->expected(0, 1); }

std::string OptionParser::form_of(std::string_view form, std::string_view value) {
  const bool is_whole = value.empty() || form.find(' ') != std::string_view::npos;
  return is_whole ? std::string(form) : fmt::format("{} {}", form, value);
}

DeclaredOption OptionParser::add_stored(const std::string& form, std::string help, Repeats repeats,
                                        Store store) {
  const auto blank = form.find(' ');
  CLI::Option* option = app_->add_option(form.substr(0, blank));
  option->description(std::move(help))->type_size(1);
  option->expected(1, repeats == Repeats::yes ? most_repeats : 1);
  option->type_name(blank == std::string::npos ? "TEXT" : form.substr(blank + 1));
  option->allow_extra_args(repeats == Repeats::yes && option->get_positional());
  stores_.emplace_back(option, std::move(store));
  return DeclaredOption(*option);
}

void OptionParser::add_flag(std::string_view form, std::string help, std::function<void()> store) {
  const CLI::Option* flag = app_->add_flag(std::string(form))->description(std::move(help));
  stores_.emplace_back(flag, [set = std::move(store)](const auto&, const auto&) { set(); });
}

void OptionParser::replace_help(const std::string& name, std::string help) {
  app_->get_option(name)->description(std::move(help));
}

void OptionParser::remove(const std::string& name) {
  CLI::Option* option = app_->get_option(name);
  std::erase_if(stores_, [option](const auto& store) { return store.first == option; });
  app_->remove_option(option);
}

void OptionParser::ignore_what_follows() { app_->allow_extras(); }

bool OptionParser::given(std::string_view name) const { return app_->count(std::string(name)) > 0; }

void OptionParser::only(Names options, std::string what, Names with) {
  only(options, std::move(what), [this, names = std::vector<std::string_view>(with)] {
    return std::ranges::any_of(names, [this](std::string_view name) { return given(name); });
  });
}

void OptionParser::only(Names options, std::string what, std::function<bool()> holds) {
  for (const std::string_view option : options)
    rules_.emplace_back([this, option, what, holds] {
      require(!given(option) || holds(), "{} is for {}", option, what);
    });
}

void OptionParser::alone(std::string_view option) {
  rules_.emplace_back([this, option] {
    if (!given(option)) return;
    for (const CLI::Option* other : app_->parse_order()) {
      const std::string name = other->get_name();
      const bool is_allowed = name == option || name == "--json" || name == "--color";
      require(is_allowed, "{} excludes all other options, got {}", option, name);
    }
  });
}

void OptionParser::together(std::string_view one, std::string_view other) {
  rules_.emplace_back([this, one, other] {
    require(given(one) == given(other), "{} and {} go together", one, other);
  });
}

void OptionParser::exclusive(std::string_view one, std::string_view other) {
  rules_.emplace_back([this, one, other] {
    require(!given(one) || !given(other), "{} and {} exclude each other", one, other);
  });
}

void OptionParser::read() const {
  std::map<const CLI::Option*, std::size_t> values;  // how many values were read
  for (const CLI::Option* option : app_->parse_order()) {
    const auto found = std::ranges::find(stores_, option, &decltype(stores_)::value_type::first);
    if (found == stores_.end()) continue;
    found->second(option->get_name(), option->results().at(values[option]++));
  }
  for (const auto& rule : rules_) rule();
}

}  // namespace rotary::cli
