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
#include "cli/nearest.hpp"

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
  const std::uint64_t most = answer.out ? most_numbers_in_file : most_numbers_as_text;
  const std::uint64_t most_positions = most / answer.numbers_each;
  require(count_positions(option, text) <= most_positions,
          "{} must list at most {} here: an answer has at most {} numbers{}, {} for each; got '{}'",
          option, most_positions, most,
          answer.out ? "" : fmt::format(" ({} with --out FILE)", most_numbers_in_file),
          answer.numbers_each, text);
  return parse_positions(option, text, most_positions);
}

}  // namespace rotary::cli
