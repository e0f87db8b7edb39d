// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "apps/failure.hpp"
#include "src/base/spelling.hpp"

namespace rotary::cli {
namespace {

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// False unless the whole text is a number.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const std::string_view digits = without_blanks(text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size();
}

// For "128k" returns "; write 131072 for 128 * 1024", because some people read 128k as 128000.
// Returns "" for text without a unit k or m.
std::string in_full(std::string_view text) {
  const auto unit = std::string_view("kKmM").find(text.empty() ? '\0' : text.back());
  const std::int64_t times = unit < 2 ? 1024 : 1 << 20;
  std::int64_t number = 0;
  std::int64_t product = 0;
  if (unit == std::string_view::npos || !read_number(text.substr(0, text.size() - 1), number) ||
      __builtin_mul_overflow(number, times, &product))
    return "";
  return fmt::format("; write {} for {} * {}", product, number, times);
}

constexpr std::int64_t most_of_int64 = std::numeric_limits<std::int64_t>::max();

// The most numbers in an answer: 1 GiB of f32 in a file, fewer on a terminal or for a JSON reader.
constexpr std::uint64_t most_numbers_in_file = std::uint64_t{1} << 28;
constexpr std::uint64_t most_numbers_as_text = std::uint64_t{1} << 22;

}  // namespace

std::int64_t parse_int64(std::string_view option, std::string_view text) {
  std::int64_t value = 0;
  require(read_number(text, value), "{} must be an integer in [-2^63, 2^63), got '{}'{}", option,
          text, in_full(text));
  return value;
}

std::int64_t parse_between(std::string_view option, std::string_view text,
                           const ValueRange& range) {
  const std::int64_t value = parse_int64(option, text);
  require(range.first <= value || range.last != most_of_int64, "{} must be at least {}, got {}",
          option, range.first, value);
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

std::vector<std::int64_t> Coordinates::of(std::size_t token) const {
  std::vector<std::int64_t> coordinates;
  for (std::size_t at = token; at < numbers.size(); at += tokens())
    coordinates.push_back(numbers[at]);
  return coordinates;
}

PositionList::PositionList(std::string_view option, std::string_view text)
    : option_(option), text_(text) {
  for (const std::string_view part : split_at_commas(text)) boxes_.push_back(box_of(part));
}

PositionList::Range PositionList::range_of(std::string_view text) const {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    require(without_blanks(text).find_first_of("-.", 1) == std::string_view::npos,
            "{} must be an integer or START:STOP, without STOP, got '{}'", option_, text);
    return {.first = parse_int64(option_, text), .count = 1};
  }
  const std::int64_t start = parse_int64(option_, text.substr(0, colon));
  const std::int64_t stop = parse_int64(option_, text.substr(colon + 1));
  require(start < stop, "{} START:STOP must have START < STOP, got '{}'", option_, text);
  // Unsigned, because the difference may not fit int64.
  return {.first = start,
          .count = static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)};
}

PositionList::Box PositionList::box_of(std::string_view text) const {
  Box box;
  for (std::string_view rest = text;; rest.remove_prefix(rest.find('/') + 1)) {
    box.ranges.push_back(range_of(rest.substr(0, rest.find('/'))));
    if (__builtin_mul_overflow(box.count, box.ranges.back().count, &box.count))
      box.count = std::numeric_limits<std::uint64_t>::max();
    if (rest.find('/') == std::string_view::npos) return box;
  }
}

void PositionList::check_count(std::uint64_t count, const AnswerSize& answer) const {
  const std::uint64_t most = answer.out ? most_numbers_in_file : most_numbers_as_text;
  require(count <= most / answer.numbers_each,
          "{} must list at most {} here: an answer has at most {} numbers{}, {} for each; got '{}'",
          option_, most / answer.numbers_each, most,
          answer.out ? "" : fmt::format(" ({} with --out FILE)", most_numbers_in_file),
          answer.numbers_each, text_);
}

// Appends a box's coordinates on one axis. Coordinates on the last axis vary fastest.
void PositionList::append_axis(std::vector<std::int64_t>& numbers, const Box& box,
                               std::size_t axis) {
  const bool is_grid = box.ranges.size() > 1;
  const Range& range = box.ranges[is_grid ? axis : 0];
  std::uint64_t run = 1;  // adjacent tokens with the same coordinate
  for (std::size_t faster = axis + 1; is_grid && faster < box.ranges.size(); ++faster)
    run *= box.ranges[faster].count;
  for (std::uint64_t token = 0; token < box.count; ++token)
    numbers.push_back(range.first + static_cast<std::int64_t>(token / run % range.count));
}

Coordinates PositionList::coordinates(std::int64_t axes, const AnswerSize& answer) const {
  std::uint64_t count = 0;
  bool are_same = true;  // each token has equal coordinates on all axes
  for (const Box& box : boxes_) {
    const std::size_t given = box.ranges.size();
    require(given == 1 || std::cmp_equal(given, axes),
            "{} must have one coordinate for each token{}, got {}: '{}'", option_,
            axes == 1 ? std::string() : fmt::format(", or {} between slashes", axes), given, text_);
    if (__builtin_add_overflow(count, box.count, &count))
      count = std::numeric_limits<std::uint64_t>::max();
    are_same = are_same && given == 1;
  }
  check_count(count, answer);
  Coordinates coordinates{.axes = are_same ? 1 : axes, .numbers = {}};
  for (std::size_t axis = 0; std::cmp_less(axis, coordinates.axes); ++axis)
    for (const Box& box : boxes_) append_axis(coordinates.numbers, box, axis);
  return coordinates;
}

}  // namespace rotary::cli
