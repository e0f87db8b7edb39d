// SPDX-License-Identifier: Apache-2.0
// The example that introductions print: position 3, x = (0.5, -1, 1.5, 2), base 10000. As printed,
// with its frequencies of i/d and its two digits of cos and sin; exactly as those frequencies make
// it; and right, in both pairings. With 4 features a pair of halves is hard to tell from a pair of
// neighbours, so 8 features follow.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/explain/topics.hpp"
#include "cli/failure.hpp"

namespace rotary::cli::explain {
namespace {

constexpr double example_base = 10000;
// Introductions print these, from sin 3 = 0.14, cos 3 = -0.99, sin 0.3 = 0.30, cos 0.3 = 0.96.
constexpr std::array<double, 4> as_printed = {-0.355, 1.06, 0.84, 2.37};
constexpr std::array<double, 8> eight_values = {0.5, -1, 1.5, 2, -0.25, 3, 1, -2};

struct Row {
  std::string_view name;
  std::string_view what;
  Pairing pairing;
  Vector inv_freq;
  Vector result;
};

void to_json(Json& json, const Row& row) {
  json = {{"name", row.name},
          {"what", row.what},
          {"pairing", to_string(row.pairing)},
          {"inv_freq", row.inv_freq},
          {"result", row.result},
          {"norm_squared", dot(row.result, row.result)}};
}

struct Table {
  Vector values;
  std::vector<Row> rows;
};

void to_json(Json& json, const Table& table) {
  json = {{"values", table.values}, {"rows", table.rows}};
}

Frequencies frequencies_of(std::size_t features, Pairing pairing) {
  return value_or_fail(make_frequencies(RotarySpec{
      .head_dim = static_cast<std::int64_t>(features), .base = example_base, .pairing = pairing}));
}

Row row_of(std::string_view name, std::string_view what, const Vector& values,
           const Frequencies& frequencies) {
  return {.name = name,
          .what = what,
          .pairing = frequencies.window.pairing,
          .inv_freq = frequencies.inv_freq,
          .result = turned(values, pairs_at(frequencies, example_position), 1)};
}

Table right_rows(const Vector& values) {
  const std::size_t d = values.size();
  return {.values = values,
          .rows = {row_of("interleaved", "right, pairs (0, 1), (2, 3), ...", values,
                          frequencies_of(d, Pairing::interleaved)),
                   row_of("half", "right, pairs (0, d/2), (1, d/2 + 1), ...", values,
                          frequencies_of(d, Pairing::half))}};
}

Table table_of_four() {
  const Vector values(std::begin(example_values), std::end(example_values));
  const HeadWindow window = frequencies_of(4, Pairing::interleaved).window;
  const Vector of_i_over_d = {1, std::pow(example_base, -1.0 / 4)};
  Table table{.values = values,
              .rows = {{.name = "as_printed",
                        .what = "as it is printed",
                        .pairing = Pairing::interleaved,
                        .inv_freq = of_i_over_d,
                        .result = Vector(as_printed.begin(), as_printed.end())},
                       row_of("exponent_i_over_d", "the same frequencies, 1 and 0.1, exactly",
                              values, value_or_fail(make_frequencies(window, of_i_over_d, 1)))}};
  for (Row& row : right_rows(values).rows) table.rows.push_back(std::move(row));
  return table;
}

std::string table_text(const Table& table) {
  std::string text;
  for (const Row& row : table.rows) {
    text += fmt::format("  {:<42}  norm^2 {:.6g}\n      {}\n", row.what,
                        dot(row.result, row.result), vector_text(row.result));
  }
  return text;
}

std::string text_of(const Table& four, const Table& eight) {
  const double last = four.rows[1].result.back();
  return fmt::format(
      "x = {} at position {}, base {}\n\n{}\n"
      "What is wrong in the first: its exponent is i/d, so its second pair turns by 0.1 a\n"
      "position where 2i/d makes 0.01; and two digits of cos and sin were multiplied, so its\n"
      "norm^2 is {:.6g} and its last number off by {:.3f} even so. Norms cannot tell: the second\n"
      "has {:.6g}, as x has.\n\n"
      "It is also told as 'split into two halves', which of four features are neighbours. Of\n"
      "eight they are not, and the two pairings are plain to see:\n\n"
      "x = {} at position {}\n\n{}",
      exact_vector_text(four.values), example_position, example_base, table_text(four),
      dot(four.rows[0].result, four.rows[0].result), as_printed.back() - last,
      dot(four.rows[1].result, four.rows[1].result), exact_vector_text(eight.values),
      example_position, table_text(eight));
}

}  // namespace

std::string explain_example(OutputForm form) {
  const Table four = table_of_four();
  const Table eight = right_rows(Vector(eight_values.begin(), eight_values.end()));
  if (form == OutputForm::text) return text_of(four, eight);
  return printed({{"schema_version", 1},
                  {"topic", "example"},
                  {"position", example_position},
                  {"base", example_base},
                  {"four", four},
                  {"eight", eight}});
}

}  // namespace rotary::cli::explain
