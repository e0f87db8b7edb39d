// SPDX-License-Identifier: Apache-2.0
#include "cli/position_list.hpp"

#include <fmt/format.h>

#include <limits>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"

namespace rotary::cli {
namespace {

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
  if (start >= stop) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} START:STOP must have START < STOP, got '{}'", option, text));
  }
  // Unsigned: from -2^63 to 2^63 - 1 the difference does not fit int64.
  return {.first = start,
          .count = static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)};
}

// 2^64 - 1 for all that are more.
std::uint64_t count_positions(std::string_view option, std::string_view text) {
  std::uint64_t count = 0;
  for (const std::string_view part : split_at_commas(text)) {
    if (__builtin_add_overflow(count, parse_range(option, part).count, &count))
      return std::numeric_limits<std::uint64_t>::max();
  }
  return count;
}

}  // namespace

std::vector<std::int64_t> parse_positions(std::string_view option, std::string_view text,
                                          std::uint64_t most_positions) {
  std::vector<std::int64_t> positions;
  for (const std::string_view part : split_at_commas(text)) {
    const Range range = parse_range(option, part);
    if (range.count > most_positions - positions.size()) {
      throw Failure(ExitCode::usage, fmt::format("{} must name at most {} positions here, got '{}'",
                                                 option, most_positions, text));
    }
    for (std::uint64_t offset = 0; offset < range.count; ++offset) {
      positions.push_back(range.first + static_cast<std::int64_t>(offset));
    }
  }
  return positions;
}

std::vector<std::int64_t> parse_positions(std::string_view option, std::string_view text,
                                          const AnswerSize& answer) {
  const std::uint64_t most = answer.out ? most_numbers_in_file : most_numbers_as_text;
  const std::uint64_t most_positions = most / answer.numbers_each;
  if (count_positions(option, text) <= most_positions)
    return parse_positions(option, text, most_positions);
  throw Failure(
      ExitCode::usage,
      fmt::format("{} must list at most {} here: an answer has at most {} numbers{}, {} for each; "
                  "got '{}'",
                  option, most_positions, most,
                  answer.out ? "" : fmt::format(" ({} with --out FILE)", most_numbers_in_file),
                  answer.numbers_each, text));
}

}  // namespace rotary::cli
