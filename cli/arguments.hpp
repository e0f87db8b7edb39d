// SPDX-License-Identifier: Apache-2.0
// Values of command-line options, read strictly: the whole text is the value and nothing saturates.
// Each failure is a usage error that names the option, the requirement and what was got.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rotary/tensor_view.hpp"

namespace rotary::cli {

[[nodiscard]] std::int64_t parse_int64(std::string_view option, std::string_view text);

struct ValueRange {
  std::int64_t first;
  std::int64_t last;
};

[[nodiscard]] std::int64_t parse_between(std::string_view option, std::string_view text,
                                         const ValueRange& range);

// Finite.
[[nodiscard]] double parse_double(std::string_view option, std::string_view text);

// At least one; split at commas.
[[nodiscard]] std::vector<double> parse_doubles(std::string_view option, std::string_view text);

// The parts between commas, blanks around them removed; "" has one empty part.
[[nodiscard]] std::vector<std::string_view> split_at_commas(std::string_view text);

// Parses each part; absent where the text is.
template <class Parse>
[[nodiscard]] auto parse_list(const std::optional<std::string>& text, Parse parse) {
  std::optional<std::vector<decltype(parse(std::string_view()))>> values;
  if (!text) return values;
  values.emplace();
  for (const std::string_view part : split_at_commas(*text)) values->push_back(parse(part));
  return values;
}

// "a, b, c": of each value a member, or what a function says of it.
template <class Values, class Name>
[[nodiscard]] std::string names_text(const Values& values, Name name) {
  std::string names;
  for (const auto& value : values) {
    if (!names.empty()) names += ", ";
    names += std::invoke(name, value);
  }
  return names;
}

[[noreturn]] void fail_choice(std::string_view option, std::string_view text,
                              const std::vector<std::string_view>& names);

// The value among those given whose name is text; name is a member, or a function of a value.
template <class Values, class Name>
[[nodiscard]] const auto& choose_by(Name name, std::string_view option, std::string_view text,
                                    const Values& values) {
  std::vector<std::string_view> names;
  for (const auto& value : values) {
    names.push_back(std::invoke(name, value));
    if (names.back() == text) return value;
  }
  fail_choice(option, text, names);
}

template <class Value>
[[nodiscard]] Value choose(std::string_view option, std::string_view text,
                           const std::vector<std::pair<std::string_view, Value>>& choices) {
  return choose_by(&std::pair<std::string_view, Value>::first, option, text, choices).second;
}

// Among values that have a to_string().
template <class Values>
[[nodiscard]] auto choose_named(std::string_view option, std::string_view text,
                                const Values& values) {
  return choose_by([](const auto& value) { return to_string(value); }, option, text, values);
}

// Kernels take q, k and v of f32, bf16 and f16.
[[nodiscard]] DType parse_kernel_dtype(std::string_view option, std::string_view text);

// Positions: "0:16" (START:STOP, STOP excluded), "7", "0,1,4096", "-4:4,131071".
// In the order given. Usage failure when a range is empty, a number leaves int64, or there are more
// than most_positions, which is checked before anything of that size is allocated.
[[nodiscard]] std::vector<std::int64_t> parse_positions(std::string_view option,
                                                        std::string_view text,
                                                        std::uint64_t most_positions);

// The positions of an answer that has so many numbers (>= 1) for each of them. It goes to the file
// out, or to standard output; how many numbers it may have depends on that, and a usage failure
// says both.
struct AnswerSize {
  std::uint64_t numbers_each = 1;
  const std::optional<std::string>& out;
};

[[nodiscard]] std::vector<std::int64_t> parse_positions(std::string_view option,
                                                        std::string_view text,
                                                        const AnswerSize& answer);

// Tokens whose positions have several coordinates.
struct Coordinates {
  std::int64_t axes = 1;              // 1 also where all coordinates of each token are equal
  std::vector<std::int64_t> numbers;  // [axes][tokens]

  [[nodiscard]] std::size_t tokens() const noexcept {
    return numbers.size() / static_cast<std::size_t>(axes);
  }
  // The coordinates of a token.
  [[nodiscard]] std::vector<std::int64_t> of(std::size_t token) const;
};

// As parse_positions; between slashes each part may have as many as there are axes, such as
// "0/3/5", of which ranges are a grid, the last axis fastest: "0/0:4/0:6". A part without slashes
// is the same on all axes.
[[nodiscard]] Coordinates parse_coordinates(std::string_view option, std::string_view text,
                                            std::int64_t axes, const AnswerSize& answer);

}  // namespace rotary::cli
