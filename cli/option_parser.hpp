// SPDX-License-Identifier: Apache-2.0
// Declares a command's options: values, targets, and rules between options. Help, manual pages,
// docs/tool.md and completions use the same declarations (command_line.hpp). Hides CLI11, which
// adds seconds of compile time to each source that includes it.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/values.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rotary::cli {

class DeclaredOption {
 public:
  explicit DeclaredOption(CLI::Option& option) : option_(&option) {}

  void required();
  // The option may be given without a value, which is then empty.
  void value_may_be_missing();

 private:
  CLI::Option* option_;
};

class OptionParser {
 public:
  using Names = std::initializer_list<std::string_view>;
  using Store = std::function<void(const std::string& name, const std::string& text)>;

  explicit OptionParser(CLI::App& app) : app_(&app) {}
  OptionParser(const OptionParser&) = delete;
  OptionParser& operator=(const OptionParser&) = delete;
  ~OptionParser() = default;

  // form: the option's names, then the value's name in help, as in "-o,--out FILE". "CONFIG" is
  // positional; "--theme" suffices if the value has its own name. A vector takes one value per
  // occurrence. read() writes the target, which must live as long as the parser is used.
  template <class T, class Target>
  DeclaredOption add(std::string_view form, Target& target, Value<T> value, std::string help) {
    constexpr bool is_list = std::is_same_v<Target, std::vector<T>>;
    return add_stored(
        form_of(form, value.name), help, is_list ? Repeats::yes : Repeats::no,
        [&target, read = std::move(value.read)](const std::string& name, const std::string& text) {
          if constexpr (is_list)
            target.push_back(read(name, text));
          else
            target = read(name, text);
        });
  }

  // For text values, such as paths.
  template <class Target>
  DeclaredOption add(std::string_view form, Target& target, std::string help) {
    return add(form, target, Value<std::string>{.name = "", .read = as_it_is}, std::move(help));
  }
  void add(std::string_view form, bool& target, std::string help) {
    add_flag(form, std::move(help), [&target] { target = true; });
  }
  void add_flag(std::string_view form, std::string help, std::function<void()> store);

  // Passes the option's values to `store` one by one, in the order of the command line.
  enum class Repeats { no, yes };
  DeclaredOption add_stored(const std::string& form, std::string help, Repeats repeats,
                            Store store);

  // Removes a shared option that this command does not use.
  void remove(const std::string& name);

  // Accepts and ignores any other arguments.
  void ignore_what_follows();

  void replace_help(const std::string& name, std::string help);

  // read() refuses `options` if none of `with` is given, or if `holds` is false. The message says
  // that they are for `what`.
  void only(Names options, std::string what, Names with);
  void only(Names options, std::string what, std::function<bool()> holds);
  // The option excludes all others but --json and --color.
  void alone(std::string_view option);
  void together(std::string_view one, std::string_view other);
  void exclusive(std::string_view one, std::string_view other);

  [[nodiscard]] bool given(std::string_view name) const;

  // Writes the targets and checks the rules between options. Fails as wrong usage.
  void read() const;

 private:
  static std::string as_it_is(std::string_view /*option*/, std::string_view text) {
    return std::string(text);
  }
  static std::string form_of(std::string_view form, std::string_view value);

  CLI::App* app_;
  std::vector<std::pair<const CLI::Option*, Store>> stores_;
  std::vector<std::function<void()>> rules_;
};

}  // namespace rotary::cli
