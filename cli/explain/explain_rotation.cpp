// SPDX-License-Identifier: Apache-2.0
// One head's rotation in five steps, on numbers that can be checked by hand. The steps are in
// double, from the library's frequencies, and are compared with rotate() in float32. The last line
// shows the widely copied mistake i/d in place of 2i/d: the same norm, other angles, and no error.
//
// Also shows the example that introductions print: position 3, x = (0.5, -1, 1.5, 2), base 10000.
// It appears as printed (exponent i/d, two digits of cos and sin), exactly with exponent i/d, and
// correctly in both pairings. Another example has 8 features, because 4 features hardly distinguish
// the pairings.
#include <fmt/format.h>

#include <iterator>
#include <variant>

#include "cli/explain/topics.hpp"

namespace rotary::cli::explain {
namespace {

Json rotation_document(const Numbers& numbers, const std::vector<Pair>& pairs) {
  const Vector result = numbers.turned(numbers.query, numbers.query_position);
  Json json = document_of_query("rotation", numbers);
  json["pairs"] = json_array(pairs, [](const Pair& pair) {
    return Json{{"features", {pair.first_feature, pair.second_feature}},
                {"result_features", {pair.first_result, pair.second_result}},
                {"inv_freq", pair.inv_freq},
                {"angle_radians", pair.angle_radians},
                {"cos", pair.cos},
                {"sin", pair.sin}};
  });
  json["result"] = result;
  json["library_result_f32"] = numbers.rotated_by_library(numbers.query, numbers.query_position);
  json["norm_before"] = norm(numbers.query);
  json["norm_after"] = norm(result);
  if (std::holds_alternative<NoScaling>(numbers.spec.scaling)) {
    const auto d = static_cast<double>(numbers.rotary_dim());
    const Frequencies wrong = with_exponents(numbers, [d](double i) { return i / d; });
    json["result_of_exponent_i_over_d"] = turned(numbers.query, wrong, numbers.query_position);
  }
  return json;
}

// A line for each pair. Above 8 pairs: the first four, a line of dots, and the last two.
template <class Line>
std::string pair_lines(const std::vector<Pair>& pairs, Line line) {
  std::string text;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs.size() > 8 && i == 4) {
      text += "     ...\n";
      i = pairs.size() - 2;
    }
    text += fmt::format("     pair {}   {}\n", i, line(i, pairs[i]));
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

std::string step_lines(const Numbers& numbers, const std::vector<Pair>& pairs,
                       const Vector& result) {
  const Vector& x = numbers.query;
  const bool changes_order = !keeps_order(numbers.frequencies.window.pairing);
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
        result[pair.first_result], result[pair.second_result],
        changes_order ? fmt::format(" as x{} and x{}", pair.first_result, pair.second_result) : "");
  });
  return text;
}

std::string rotation_text(const Numbers& numbers, const std::vector<Pair>& pairs,
                          const Json& json) {
  const Vector result = json["result"];
  std::string text = fmt::format(
      "x = {} at position {}\n{}\n{}\n"
      "Result   {}\n"
      "Norm     {:.6f} before, {:.6f} after: {}\n"
      "Library  rotate() in float32 differs by at most {:.1e}\n",
      exact_vector_text(numbers.query), numbers.query_position, spec_text(numbers),
      step_lines(numbers, pairs, result), vector_text(result), json["norm_before"].get<double>(),
      json["norm_after"].get<double>(),
      numbers.attention_factor() == 1 ? "turning keeps it" : "what turns grows by A",
      largest_difference<double>(json["library_result_f32"], result));
  if (const auto wrong = json.find("result_of_exponent_i_over_d"); wrong != json.end()) {
    text += fmt::format(
        "Beware   the exponent i/d, widely copied in place of 2i/d, would give\n"
        "         {}\n",
        vector_text(*wrong));
  }
  return text;
}

constexpr double example_base = 10000;

Json row_of(std::string_view name, std::string_view what, const Frequencies& frequencies,
            const Vector& result) {
  return {{"name", name},
          {"what", what},
          {"pairing", to_string(frequencies.window.pairing)},
          {"inv_freq", frequencies.inv_freq},
          {"result", result},
          {"norm_squared", dot(result, result)}};
}

// Adds the correct rows of both pairings to the given rows.
Json table_of(const Vector& values, Json rows) {
  for (const auto& [pairing, what] :
       {std::pair(Pairing::interleaved, "right, pairs (0, 1), (2, 3), ..."),
        std::pair(Pairing::half, "right, pairs (0, d/2), (1, d/2 + 1), ...")}) {
    const Frequencies frequencies = value_or_fail(
        make_frequencies(RotarySpec{.head_dim = static_cast<std::int64_t>(values.size()),
                                    .base = example_base,
                                    .pairing = pairing}));
    rows.push_back(row_of(to_string(pairing), what, frequencies,
                          turned(values, frequencies, example_position)));
  }
  return {{"values", values}, {"rows", rows}};
}

std::string rows_text(const Json& table) {
  std::string text;
  for (const Json& row : table["rows"]) {
    text += fmt::format("  {:<42}  norm^2 {:.6g}\n      {}\n", row["what"].get<std::string_view>(),
                        row["norm_squared"].get<double>(), vector_text(row["result"]));
  }
  return text;
}

std::string example_text(const Json& four, const Json& eight) {
  const Json& printed_row = four["rows"][0];
  const Json& exact_row = four["rows"][1];
  return fmt::format(
      "x = {} at position {}, base {}\n\n{}\n"
      "What is wrong in the first: its exponent is i/d, so its second pair turns by 0.1 a\n"
      "position where 2i/d makes 0.01; and two digits of cos and sin were multiplied, so its\n"
      "norm^2 is {:.6g} and its last number off by {:.3f} even so. Norms cannot tell: the second\n"
      "has {:.6g}, as x has.\n\n"
      "It is also told as 'split into two halves', which of four features are neighbours. Of\n"
      "eight they are not, and the two pairings are plain to see:\n\n"
      "x = {} at position {}\n\n{}",
      exact_vector_text(four["values"]), example_position, example_base, rows_text(four),
      printed_row["norm_squared"].get<double>(),
      printed_row["result"].back().get<double>() - exact_row["result"].back().get<double>(),
      exact_row["norm_squared"].get<double>(), exact_vector_text(eight["values"]), example_position,
      rows_text(eight));
}

}  // namespace

std::string explain_example(OutputForm form) {
  // As printed (sin 3 = 0.14, cos 3 = -0.99, sin 0.3 = 0.30, cos 0.3 = 0.96), then exactly.
  const Vector values(std::begin(example_values), std::end(example_values));
  const HeadWindow window{.head_dim = 4, .rotary_dim = 4, .pairing = Pairing::interleaved};
  const Frequencies wrong =
      value_or_fail(make_frequencies(window, {1, std::pow(example_base, -1.0 / 4)}, 1));
  const Json four = table_of(
      values,
      Json::array({row_of("as_printed", "as it is printed", wrong, {-0.355, 1.06, 0.84, 2.37}),
                   row_of("exponent_i_over_d", "the same frequencies, 1 and 0.1, exactly", wrong,
                          turned(values, wrong, example_position))}));
  const Json eight = table_of({0.5, -1, 1.5, 2, -0.25, 3, 1, -2}, Json::array());
  if (form == OutputForm::text) return example_text(four, eight);
  return printed({{"schema_version", 1},
                  {"topic", "example"},
                  {"position", example_position},
                  {"base", example_base},
                  {"four", four},
                  {"eight", eight}});
}

std::string explain_rotation(const Numbers& numbers, OutputForm form) {
  const std::vector<Pair> pairs = numbers.pairs_at(numbers.query_position);
  const Json json = rotation_document(numbers, pairs);
  return form == OutputForm::json ? printed(json) : rotation_text(numbers, pairs, json);
}

}  // namespace rotary::cli::explain
