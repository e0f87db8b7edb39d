// SPDX-License-Identifier: Apache-2.0
// One head's rotation in five steps, on numbers that a person can check by hand. The steps are in
// double, from the library's frequencies; what its rotate() computes in float32 is compared with
// them. The last line shows what an exponent of i/d in place of 2i/d, a widely copied mistake,
// would give: the same norm, other angles, and no error anywhere.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <string>
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

}  // namespace

std::string explain_rotation(const Numbers& numbers, OutputForm form) {
  const Rotation rotation = rotation_of(numbers);
  return form == OutputForm::json ? printed(json_of(numbers, rotation))
                                  : text_of(numbers, rotation);
}

}  // namespace rotary::cli::explain
