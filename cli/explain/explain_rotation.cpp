// SPDX-License-Identifier: Apache-2.0
// One head's rotation in five steps, on numbers that a person can check by hand. The steps are in
// double, from the library's frequencies; what its rotate() computes in float32 is compared with
// them. The last line shows what an exponent of i/d in place of 2i/d, a widely copied mistake,
// would give: the same norm, other angles, and no error anywhere.
//
// And the example that introductions print: position 3, x = (0.5, -1, 1.5, 2), base 10000. As
// printed, with its frequencies of i/d and its two digits of cos and sin; exactly as those
// frequencies make it; and right, in both pairings. With 4 features a pair of halves is hard to
// tell from a pair of neighbours, so 8 features follow.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/explain/topics.hpp"
#include "cli/failure.hpp"

namespace rotary::cli::explain {
namespace {

struct Rotation {
  std::vector<Pair> pairs;
  Vector result;
  std::vector<float> library_result;
  std::optional<Vector> of_wrong_exponent;  // where no scaling rule makes the frequencies
};

Vector with_exponent_i_over_d(const Numbers& numbers) {
  const HeadWindow& window = numbers.frequencies.window;
  Vector inv_freq;
  for (std::int64_t i = 0; i < window.pairs(); ++i) {
    inv_freq.push_back(std::pow(numbers.spec.base.get(),
                                -static_cast<double>(i) / static_cast<double>(window.rotary_dim)));
  }
  const Frequencies wrong = value_or_fail(make_frequencies(window, std::move(inv_freq), 1));
  return turned(numbers.query, pairs_at(wrong, numbers.query_position), 1);
}

Rotation rotation_of(const Numbers& numbers) {
  Rotation rotation;
  rotation.pairs = numbers.pairs_at(numbers.query_position);
  rotation.result = turned(numbers.query, rotation.pairs, numbers.attention_factor());
  rotation.library_result =
      rotated_by_library(numbers.query, numbers.frequencies, numbers.query_position);
  if (std::holds_alternative<NoScaling>(numbers.spec.scaling)) {
    rotation.of_wrong_exponent = with_exponent_i_over_d(numbers);
  }
  return rotation;
}

// One line for each shown pair, and one of dots where some are left out.
template <class Line>
std::string pair_lines(const std::vector<Pair>& pairs, Line line) {
  std::string text;
  std::size_t next = 0;
  for (const std::size_t i : shown_pairs(pairs.size())) {
    if (i != next) text += "     ...\n";
    text += fmt::format("     pair {}   {}\n", i, line(i, pairs[i]));
    next = i + 1;
  }
  return text;
}

std::string frequency_lines(const Numbers& numbers, const std::vector<Pair>& pairs) {
  const bool is_plain = std::holds_alternative<NoScaling>(numbers.spec.scaling) &&
                        numbers.spec.sense == Sense::positive;
  const std::string how =
      is_plain ? "base^(-2i/d)" : fmt::format("rope_type {}", rope_type(numbers.spec.scaling));
  return fmt::format("\n2  Frequencies: how far each pair turns per position, {}\n", how) +
         pair_lines(pairs, [&](std::size_t i, const Pair& pair) {
           if (!is_plain) return fmt::format("{:.9g} radians", pair.inv_freq);
           return fmt::format("{}^(-{}/{}) = {:.9g} radians", numbers.spec.base.get(), 2 * i,
                              numbers.rotary_dim(), pair.inv_freq);
         });
}

std::string step_lines(const Numbers& numbers, const Rotation& rotation) {
  const Vector& x = numbers.query;
  const std::vector<Pair>& pairs = rotation.pairs;
  const bool changes_order =
      numbers.frequencies.window.pairing.get() == Pairing::interleaved_to_half;
  std::string text = "1  Pairs: which features turn together\n";
  text += pair_lines(pairs, [&](std::size_t, const Pair& pair) {
    return fmt::format("(x{}, x{}) = ({}, {})", pair.first_feature, pair.second_feature,
                       x[pair.first_feature], x[pair.second_feature]);
  });
  text += frequency_lines(numbers, pairs) + "\n3  Angles: position x frequency\n";
  text += pair_lines(pairs, [&](std::size_t, const Pair& pair) {
    return fmt::format("{} x {:.9g} = {:.9g} radians", numbers.query_position, pair.inv_freq,
                       pair.angle_radians);
  });
  text += "\n4  Cosine and sine of each angle\n";
  text += pair_lines(pairs, [&](std::size_t, const Pair& pair) {
    return fmt::format("cos = {:9.6f}   sin = {:9.6f}", pair.cos, pair.sin);
  });
  text += fmt::format("\n5  Turn each pair: (x cos - y sin, x sin + y cos){}\n",
                      numbers.attention_factor() == 1 ? "" : " times A");
  text += pair_lines(pairs, [&](std::size_t, const Pair& pair) {
    return fmt::format(
        "({}, {}) -> ({:.6f}, {:.6f}){}", x[pair.first_feature], x[pair.second_feature],
        rotation.result[pair.first_result], rotation.result[pair.second_result],
        changes_order ? fmt::format(" as x{} and x{}", pair.first_result, pair.second_result) : "");
  });
  return text;
}

double library_difference(const Rotation& rotation) {
  const Vector library(rotation.library_result.begin(), rotation.library_result.end());
  return largest_difference(library, rotation.result);
}

std::string text_of(const Numbers& numbers, const Rotation& rotation) {
  std::string text = fmt::format(
      "x = {} at position {}\n{}\n{}\n"
      "Result   {}\n"
      "Norm     {:.6f} before, {:.6f} after: {}\n"
      "Library  rotate() in float32 differs by at most {:.1e}\n",
      exact_vector_text(numbers.query), numbers.query_position, spec_text(numbers),
      step_lines(numbers, rotation), vector_text(rotation.result), norm(numbers.query),
      norm(rotation.result),
      numbers.attention_factor() == 1 ? "turning keeps it" : "what turns grows by A",
      library_difference(rotation));
  if (rotation.of_wrong_exponent) {
    text += fmt::format(
        "Beware   the exponent i/d, widely copied in place of 2i/d, would give\n"
        "         {}\n",
        vector_text(*rotation.of_wrong_exponent));
  }
  return text;
}

Json json_of(const Numbers& numbers, const Rotation& rotation) {
  Json json = document_of_query("rotation", numbers);
  json["pairs"] = json_array(rotation.pairs, [](const Pair& pair) {
    return Json{{"features", {pair.first_feature, pair.second_feature}},
                {"result_features", {pair.first_result, pair.second_result}},
                {"inv_freq", pair.inv_freq},
                {"angle_radians", pair.angle_radians},
                {"cos", pair.cos},
                {"sin", pair.sin}};
  });
  json["result"] = rotation.result;
  json["library_result_f32"] = rotation.library_result;
  json["norm_before"] = norm(numbers.query);
  json["norm_after"] = norm(rotation.result);
  if (rotation.of_wrong_exponent) json["result_of_exponent_i_over_d"] = *rotation.of_wrong_exponent;
  return json;
}

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

std::string explain_rotation(const Numbers& numbers, OutputForm form) {
  const Rotation rotation = rotation_of(numbers);
  return form == OutputForm::json ? printed(json_of(numbers, rotation))
                                  : text_of(numbers, rotation);
}

}  // namespace rotary::cli::explain
