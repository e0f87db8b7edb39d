// SPDX-License-Identifier: Apache-2.0
#include "cli/plot/csv.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <span>
#include <string_view>

namespace rotary::cli::plot {
namespace {

// Spreadsheets would compute a text that begins like a formula; an apostrophe keeps it text.
std::string field(std::string_view text) {
  constexpr std::string_view formula_starts = "=+-@";
  const bool is_formula = !text.empty() && formula_starts.find(text[0]) != std::string_view::npos;
  std::string plain = fmt::format("{}{}", is_formula ? "'" : "", text);
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string quoted = "\"";
  for (const char c : plain) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string field(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : std::string();
}

// Of an optional coordinate.
std::string field(std::span<const double> numbers, std::size_t i) {
  return i < numbers.size() ? field(numbers[i]) : std::string();
}

}  // namespace

std::string csv_of(const Figure& figure) {
  std::string text = "panel,series,x,y,z,lower\n";
  const auto out = std::back_inserter(text);
  for (std::size_t index = 0; index < figure.panels.size(); ++index) {
    const Panel& panel = figure.panels[index];
    const std::string name = panel.title.empty() ? fmt::format("{}", index) : field(panel.title);
    for (const Series& series : panel.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        fmt::format_to(out, "{},{},{},{},{},{}\n", name, field(series.name), field(series.x[i]),
                       field(series.y[i]), field(series.z, i), field(series.lower, i));
      }
    }
    if (!panel.map) continue;
    for (std::size_t cell = 0; cell < panel.map->values.size(); ++cell) {
      fmt::format_to(out, "{},cells,{},{},{},\n", name, cell % panel.map->columns,
                     cell / panel.map->columns, field(panel.map->values[cell]));
    }
  }
  return text;
}

}  // namespace rotary::cli::plot
