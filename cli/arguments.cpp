// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "cli/failure.hpp"
#include "src/base/spelling.hpp"

namespace rotary::cli {
namespace {

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Whether the whole text is the number.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const std::string_view digits = without_blanks(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size();
}

// Numbers in one answer: 1 GiB of f32 in a file; as text, what a terminal or a JSON reader can
// take.
constexpr std::uint64_t most_numbers_in_file = std::uint64_t{1} << 28;
constexpr std::uint64_t most_numbers_as_text = std::uint64_t{1} << 22;

struct Range {
  std::int64_t first = 0;
  std::uint64_t count = 0;
};

Range parse_range(std::string_view option, std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {.first = parse_int64(option, text), .count = 1};
  const std::int64_t start = parse_int64(option, text.substr(0, colon));
  const std::int64_t stop = parse_int64(option, text.substr(colon + 1));
  require(start < stop, "{} START:STOP must have START < STOP, got '{}'", option, text);
  // Unsigned: from -2^63 to 2^63 - 1 the difference does not fit int64.
  return {.first = start,
          .count = static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)};
}

// 2^64 - 1 for all that are more.
std::uint64_t count_positions(std::string_view option, std::string_view text) {
  std::uint64_t count = 0;
  for (const std::string_view part : split_at_commas(text))
    if (__builtin_add_overflow(count, parse_range(option, part).count, &count))
      return std::numeric_limits<std::uint64_t>::max();
  return count;
}

// Tokens at a range of positions, of which each has the same coordinate on all axes; or a grid.
struct Box {
  std::vector<Range> ranges;  // one, or that of each axis

  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t count = 1;
    for (const Range& range : ranges)
      if (__builtin_mul_overflow(count, range.count, &count))
        return std::numeric_limits<std::uint64_t>::max();
    return count;
  }
};

Box parse_box(std::string_view option, std::string_view text, std::size_t axes) {
  Box box;
  for (std::string_view rest = text;; rest.remove_prefix(rest.find('/') + 1)) {
    box.ranges.push_back(parse_range(option, rest.substr(0, rest.find('/'))));
    if (rest.find('/') == std::string_view::npos) break;
  }
  require(box.ranges.size() == 1 || box.ranges.size() == axes,
          "{} must have one coordinate for each token{}, got {}: '{}'", option,
          axes == 1 ? std::string() : fmt::format(", or {} between slashes", axes),
          box.ranges.size(), text);
  return box;
}

// The coordinates of the tokens of a box on one axis, the last axis fastest.
void append_axis(std::vector<std::int64_t>& numbers, const Box& box, std::size_t axis) {
  const bool is_grid = box.ranges.size() > 1;
  const Range& range = box.ranges[is_grid ? axis : 0];
  std::uint64_t run = 1;  // tokens with the same coordinate
  for (std::size_t faster = axis + 1; is_grid && faster < box.ranges.size(); ++faster)
    run *= box.ranges[faster].count;
  for (std::uint64_t token = 0; token < box.count(); ++token)
    numbers.push_back(range.first + static_cast<std::int64_t>(token / run % range.count));
}

void check_count(std::string_view option, std::string_view text, std::uint64_t count,
                 const AnswerSize& answer) {
  const std::uint64_t most = answer.out ? most_numbers_in_file : most_numbers_as_text;
  require(count <= most / answer.numbers_each,
          "{} must list at most {} here: an answer has at most {} numbers{}, {} for each; got '{}'",
          option, most / answer.numbers_each, most,
          answer.out ? "" : fmt::format(" ({} with --out FILE)", most_numbers_in_file),
          answer.numbers_each, text);
}

}  // namespace

std::int64_t parse_int64(std::string_view option, std::string_view text) {
  std::int64_t value = 0;
  require(read_number(text, value), "{} must be an integer in [-2^63, 2^63), got '{}'", option,
          text);
  return value;
}

std::int64_t parse_between(std::string_view option, std::string_view text,
                           const ValueRange& range) {
  const std::int64_t value = parse_int64(option, text);
  require(range.first <= value && value <= range.last, "{} must be in [{}, {}], got {}", option,
          range.first, range.last, value);
  return value;
}

double parse_double(std::string_view option, std::string_view text) {
  double value = 0;
  require(read_number(text, value) && std::isfinite(value), "{} must be a finite number, got '{}'",
          option, text);
  return value;
}

std::vector<double> parse_doubles(std::string_view option, std::string_view text) {
  std::vector<double> values;
  for (const std::string_view part : split_at_commas(text))
    values.push_back(parse_double(option, part));
  return values;
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.push_back(without_blanks(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

void fail_choice(std::string_view option, std::string_view text,
                 const std::vector<std::string_view>& names) {
  fail_usage("{} must be one of {}, got '{}'{}", option, fmt::join(names, ", "), text,
             did_you_mean(text, names));
}

DType parse_kernel_dtype(std::string_view option, std::string_view text) {
  return choose_named(option, text, std::array{DType::f32, DType::bf16, DType::f16});
}

std::vector<std::int64_t> parse_positions(std::string_view option, std::string_view text,
                                          std::uint64_t most_positions) {
  std::vector<std::int64_t> positions;
  for (const std::string_view part : split_at_commas(text)) {
    const Range range = parse_range(option, part);
    require(range.count <= most_positions - positions.size(),
            "{} must name at most {} positions here, got '{}'", option, most_positions, text);
    for (std::uint64_t offset = 0; offset < range.count; ++offset)
      positions.push_back(range.first + static_cast<std::int64_t>(offset));
  }
  return positions;
}

std::vector<std::int64_t> parse_positions(std::string_view option, std::string_view text,
                                          const AnswerSize& answer) {
  check_count(option, text, count_positions(option, text), answer);
  return parse_positions(option, text, std::numeric_limits<std::uint64_t>::max());
}

std::vector<std::int64_t> Coordinates::of(std::size_t token) const {
  std::vector<std::int64_t> coordinates;
  for (std::size_t at = token; at < numbers.size(); at += tokens())
    coordinates.push_back(numbers[at]);
  return coordinates;
}

Coordinates parse_coordinates(std::string_view option, std::string_view text, std::int64_t axes,
                              const AnswerSize& answer) {
  if (text.find('/') == std::string_view::npos)
    return {.axes = 1, .numbers = parse_positions(option, text, answer)};
  std::vector<Box> boxes;
  std::uint64_t count = 0;
  for (const std::string_view part : split_at_commas(text)) {
    boxes.push_back(parse_box(option, part, static_cast<std::size_t>(axes)));
    if (__builtin_add_overflow(count, boxes.back().count(), &count))
      count = std::numeric_limits<std::uint64_t>::max();
  }
  check_count(option, text, count, answer);
  Coordinates coordinates{.axes = axes, .numbers = {}};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes); ++axis)
    for (const Box& box : boxes) append_axis(coordinates.numbers, box, axis);
  return coordinates;
}

}  // namespace rotary::cli
