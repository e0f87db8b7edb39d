// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
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

}  // namespace

std::int64_t parse_int64(std::string_view option, std::string_view text) {
  const std::string_view digits = without_blanks(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} must be an integer in [-2^63, 2^63), got '{}'", option, text));
  }
  return value;
}

double parse_double(std::string_view option, std::string_view text) {
  const std::string_view digits = without_blanks(text);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value)) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} must be a finite number, got '{}'", option, text));
  }
  return value;
}

std::vector<double> parse_doubles(std::string_view option, std::string_view text) {
  std::vector<double> values;
  for (const std::string_view part : split_at_commas(text)) {
    values.push_back(parse_double(option, part));
  }
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
  throw Failure(ExitCode::usage,
                fmt::format("{} must be one of {}, got '{}'{}", option, fmt::join(names, ", "),
                            text, did_you_mean(text, names)));
}

}  // namespace rotary::cli
