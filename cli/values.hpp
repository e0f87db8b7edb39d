// SPDX-License-Identifier: Apache-2.0
// Types of option values, for declarations of options.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"

namespace rotary::cli {

template <class T>
struct Value {
  std::string name;  // as in help: "half|interleaved"; empty if the option's form has it
  std::function<T(std::string_view option, std::string_view text)> read;
};

[[nodiscard]] inline Value<std::int64_t> integer() { return {.name = "", .read = parse_int64}; }

[[nodiscard]] inline Value<std::int64_t> integer(const ValueRange& range) {
  return {.name = "", .read = [range](std::string_view option, std::string_view text) {
            return parse_between(option, text, range);
          }};
}

// The number must be finite.
[[nodiscard]] inline Value<double> number() { return {.name = "", .read = parse_double}; }

// One of `values` by name. `name` is a function or a member that gives a value's name.
template <class Name, class Values>
[[nodiscard]] auto one_by(Name name, const Values& values) {
  using T = typename Values::value_type;
  return Value<T>{.name = names_text(values, name, "|"),
                  .read = [name, values](std::string_view option, std::string_view text) -> T {
                    return choose_by(name, option, text, values);
                  }};
}

template <class Values>
[[nodiscard]] auto one_of(const Values& values) {
  return one_by([](const auto& value) { return to_string(value); }, values);
}

template <class T>
[[nodiscard]] Value<T> one_named(std::vector<std::pair<std::string_view, T>> choices) {
  const auto pair = one_by(&std::pair<std::string_view, T>::first, choices);
  return {.name = pair.name,
          .read = [read = pair.read](std::string_view option, std::string_view text) {
            return read(option, text).second;
          }};
}

[[nodiscard]] inline Value<PositionList> positions() {
  return {.name = "", .read = [](std::string_view option, std::string_view text) {
            return PositionList(option, text);
          }};
}

// A list of values between commas.
template <class T>
[[nodiscard]] Value<std::vector<T>> list_of(Value<T> element) {
  return {.name = "",
          .read = [read = std::move(element.read)](std::string_view option, std::string_view text) {
            std::vector<T> values;
            for (const std::string_view part : split_at_commas(text))
              values.push_back(read(option, part));
            return values;
          }};
}

}  // namespace rotary::cli
