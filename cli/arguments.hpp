// SPDX-License-Identifier: Apache-2.0
// Values of command-line options, read strictly: the whole text is the value and nothing saturates.
// Each failure is a usage error that names the option, the requirement and what was got.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::cli {

[[nodiscard]] std::int64_t parse_int64(std::string_view option, std::string_view text);

// Finite.
[[nodiscard]] double parse_double(std::string_view option, std::string_view text);

// At least one; split at commas.
[[nodiscard]] std::vector<double> parse_doubles(std::string_view option, std::string_view text);

// The parts between commas, blanks around them removed; "" has one empty part.
[[nodiscard]] std::vector<std::string_view> split_at_commas(std::string_view text);

[[noreturn]] void fail_choice(std::string_view option, std::string_view text,
                              const std::vector<std::string_view>& names);

// The value that text names among choices.
template <class Value>
[[nodiscard]] Value choose(std::string_view option, std::string_view text,
                           const std::vector<std::pair<std::string_view, Value>>& choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  fail_choice(option, text, names);
}

}  // namespace rotary::cli
