// SPDX-License-Identifier: Apache-2.0
// Parses values of command-line options strictly: the full text must be a value within range. A
// failure is a usage error that names the option, the requirement and the value found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {

[[nodiscard]] std::int64_t parse_int64(std::string_view option, std::string_view text);

struct ValueRange {
  std::int64_t first;
  std::int64_t last;
};

[[nodiscard]] std::int64_t parse_between(std::string_view option, std::string_view text,
                                         const ValueRange& range);

// The number must be finite.
[[nodiscard]] double parse_double(std::string_view option, std::string_view text);

// Splits at commas and trims blanks. "" gives one empty part.
[[nodiscard]] std::vector<std::string_view> split_at_commas(std::string_view text);

// The names of the values: "a, b, c". `name` is a member of a value, or a function of it.
template <class Values, class Name>
[[nodiscard]] std::string names_text(const Values& values, Name name,
                                     std::string_view between = ", ") {
  std::string names;
  for (const auto& value : values) {
    if (!names.empty()) names += between;
    names += std::invoke(name, value);
  }
  return names;
}

[[noreturn]] void fail_choice(std::string_view option, std::string_view text,
                              const std::vector<std::string_view>& names);

// Finds the value named `text`. `name` is a member of a value, or a function of it.
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

// The size of an answer: `numbers_each` numbers (>= 1) per position, for the file `out` or for
// standard output.
struct AnswerSize {
  std::uint64_t numbers_each = 1;
  const std::optional<std::string>& out;
};

// Tokens with one or more coordinates each.
struct Coordinates {
  std::int64_t axes = 1;              // 1 if all coordinates of each token are equal
  std::vector<std::int64_t> numbers;  // [axes][tokens]

  [[nodiscard]] std::size_t tokens() const noexcept {
    return numbers.size() / static_cast<std::size_t>(axes);
  }
  [[nodiscard]] std::vector<std::int64_t> of(std::size_t token) const;
};

// Parses "0:16" (0 to 15), "7", "0,1,4096", "-4:4,131071". Slashes separate axes: "0/3/5" is a
// token, and "0/0:4/0:6" is a grid whose last axis varies fastest. A number or range alone applies
// to all axes. Fails as wrong usage for an empty range or a number outside int64.
class PositionList {
 public:
  PositionList(std::string_view option, std::string_view text);

  // The numbers in the given order. Their count is checked before memory is allocated.
  [[nodiscard]] std::vector<std::int64_t> numbers(const AnswerSize& answer) const {
    return coordinates(1, answer).numbers;
  }
  [[nodiscard]] Coordinates coordinates(std::int64_t axes, const AnswerSize& answer) const;

 private:
  struct Range {
    std::int64_t first = 0;
    std::uint64_t count = 0;
  };
  // A range of tokens with equal coordinates on all axes, or a grid.
  struct Box {
    std::vector<Range> ranges;  // one, or one per axis
    std::uint64_t count = 1;    // tokens, at most 2^64 - 1
  };

  [[nodiscard]] Range range_of(std::string_view text) const;
  [[nodiscard]] Box box_of(std::string_view text) const;
  void check_count(std::uint64_t count, const AnswerSize& answer) const;
  static void append_axis(std::vector<std::int64_t>& numbers, const Box& box, std::size_t axis);

  std::string option_, text_;
  std::vector<Box> boxes_;
};

}  // namespace rotary::cli
