// SPDX-License-Identifier: Apache-2.0
#include "lab/results/log.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/failure.hpp"
#include "cli/files.hpp"

namespace rotary::lab {
namespace {

constexpr std::uint64_t log_bytes_limit = 64 << 20;
constexpr std::size_t columns = 8;

// True where the text is numbers with commas between, as many as there are columns.
bool read_numbers(std::string_view text, std::array<double, columns>& numbers) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t column = 0; column < columns; ++column) {
    if (column > 0 && (at == end || *at++ != ',')) return false;
    const auto [stop, error] = std::from_chars(at, end, numbers[column]);
    if (error != std::errc()) return false;
    at = stop;
  }
  return at == end;
}

}  // namespace

std::vector<LogRow> read_log(const std::string& path) {
  const std::string text = cli::read_file(path, log_bytes_limit);
  std::vector<LogRow> rows;
  std::string_view rest = text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line == 1) continue;
    std::array<double, columns> numbers = {};
    if (!read_numbers(row, numbers)) {
      throw cli::Failure(
          cli::ExitCode::malformed_input,
          fmt::format("{}: line {} must be {} numbers with commas between", path, line, columns));
    }
    rows.push_back({.step = static_cast<std::int64_t>(numbers[0]),
                    .tokens = static_cast<std::int64_t>(numbers[1]),
                    .train_loss = numbers[2],
                    .validation_loss = numbers[3],
                    .learning_rate = numbers[4],
                    .wall_s = numbers[5],
                    .cpu_s = numbers[6],
                    .tokens_per_s = numbers[7]});
  }
  return rows;
}

}  // namespace rotary::lab
