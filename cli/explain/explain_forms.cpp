// SPDX-License-Identifier: Apache-2.0
// The forms of one rotation, computed on one vector. The results are equal if each form reads
// features in its own order. Also shows the vector read in the wrong order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/explain/topics.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::size_t most_shown_of_matrix = 8;

// The element-wise form for features in the order of this pairing.
Elements own_elements(Pairing pairing) {
  return reads_halves(pairing) ? Elements::rotate_half : Elements::every_two;
}

// The form's formula for features in the order of the pairing. P is the order (0, 2, 4, ..., 1, 3,
// 5, ...).
Json element_form(const FormInput& input, const Vector& x, Elements elements) {
  const bool in_halves = elements == Elements::rotate_half;
  const std::string moved = in_halves == reads_halves(input.pairing) ? "x"
                            : in_halves                              ? "P x"
                                                                     : "P^-1 x";
  std::string how = fmt::format("{0} * cos + {1}({0}) * sin", moved,
                                in_halves ? "rotate_half" : "rotate_every_two");
  if (in_halves != writes_halves(input.pairing))
    how = fmt::format("{} ({})", in_halves ? "P^-1" : "P", how);
  return {{"name", in_halves ? "rotate_half" : "element-wise"},
          {"how", how},
          {"result", by_elements_in_order(input, x, elements)}};
}

// A bound on the difference of rotate() from the forms: its error bound for float32, plus the
// rounding of x to float32 (2 units for a pair). Absent if rotate() has no bound. It has one if
// numerics are exact, and each pair's length is 0 or in [2^-100, 2^100].
std::optional<double> library_bound(const Numbers& numbers, const FormInput& input,
                                    const Vector& right) {
  bool is_bounded = numbers.frequencies.numerics == Numerics::exact;
  double longest = 0;
  for (const Pair& pair : input.pairs) {
    const double length = std::hypot(right[pair.first_result], right[pair.second_result]);
    is_bounded &= length == 0 || (length >= 0x1p-100 && length <= 0x1p100);
    longest = std::max(longest, length);
  }
  if (!is_bounded) return {};
  return 0x1p-24 * longest *
         (2 + rotate_error_bound(Direction::forward, numbers.attention_factor(),
                                 numbers.query_position));
}

Json forms_document(const Numbers& numbers, const FormInput& input, const Vector& x) {
  const Vector right = by_matrix(input, x);
  Json json = document_of_query("forms", numbers);
  json["forms"] = {{{"name", "matrix"}, {"how", "R x, R with d x d entries"}, {"result", right}},
                   {{"name", "complex"},
                    {"how", "(x_a + i x_b) e^(i angle), pair (a, b)"},
                    {"result", by_complex(input, x)}},
                   element_form(input, x, Elements::every_two),
                   element_form(input, x, Elements::rotate_half)};
  const double bound = rounding_bound(x.size()) * numbers.attention_factor() * norm(x);
  for (Json& form : json["forms"]) {
    const Check check{.deviation = largest_difference<double>(form["result"], right),
                      .bound = bound};
    require(check, form["name"].get<std::string_view>());
    add_check(form, check);
  }
  const Vector library =
      numbers.window_of(numbers.rotated_by_library(numbers.query, numbers.query_position));
  const double deviation = largest_difference(library, right);
  const std::optional<double> most = library_bound(numbers, input, right);
  if (most) require({.deviation = deviation, .bound = *most}, "rotate()");
  json["library_result_f32"] = library;
  json["library_deviation"] = deviation;
  json["library_bound"] = most;
  // The other pairing on the same features, and the order that would correct it.
  const Pairing other = reads_halves(input.pairing) ? Pairing::interleaved : Pairing::half;
  const Vector result = by_elements(input, x, own_elements(other));
  json["other_pairing"] = {{"pairing", to_string(other)},
                           {"result", result},
                           {"largest_difference", largest_difference(result, right)},
                           {"order_of_half", order_of_half(x.size())}};
  return json;
}

std::string matrix_text(const FormInput& input, std::size_t d) {
  if (d > most_shown_of_matrix) {
    return fmt::format("          {0} x {0} entries, two in each row that are not 0\n", d);
  }
  std::string text;
  for (std::size_t row = 0; row < d; ++row) {
    text += fmt::format("          | {:9.6f} |\n", fmt::join(matrix_row(input, row), " "));
  }
  return text;
}

std::string factors_text(const FormInput& input, const Vector& x) {
  const std::size_t d = x.size();
  if (d > most_shown_of_matrix) return {};
  const Elements elements = own_elements(input.pairing);
  const bool is_half = elements == Elements::rotate_half;
  Vector cosines;
  Vector sines;
  for (std::size_t feature = 0; feature < d; ++feature) {
    const Pair& pair = input.pairs[is_half ? feature % (d / 2) : feature / 2];
    cosines.push_back(input.attention_factor * pair.cos);
    sines.push_back(input.attention_factor * pair.sin);
  }
  return fmt::format("          cos {}\n          sin {}\n          {} = {}\n",
                     vector_text(cosines), vector_text(sines),
                     is_half ? "rotate_half(x)" : "rotate_every_two(x)",
                     exact_vector_text(rot(x, elements)));
}

std::string other_text(const Json& other) {
  const Vector result = other["result"];
  std::string text = fmt::format("\nThe other pairing, {}, on the same features\n     {}\n",
                                 other["pairing"].get<std::string_view>(), vector_text(result));
  if (result.size() == 2) {
    return text + "     Two features have one pair: both pairings are the same.\n";
  }
  const std::size_t d = result.size();
  const std::string order = d > 2 * most_shown_of_matrix
                                ? fmt::format("(0, 2, 4, ..., {}, 1, 3, 5, ..., {})", d - 2, d - 1)
                                : fmt::format("({})", fmt::join(order_of_half(d), ", "));
  return text +
         fmt::format(
             "     differs by up to {}; norm {}, as the right one: no check of lengths finds it.\n"
             "     P = {}: half(P x) = P interleaved(x).\n"
             "     Rows of W_q and W_k in the order P make half of interleaved, in the\n"
             "     order back interleaved of half: converters of checkpoints do it.\n",
             number_text(other["largest_difference"]), number_text(norm(result)), order);
}

std::string forms_text(const Numbers& numbers, const FormInput& input, const Vector& x,
                       const Json& json) {
  std::string text = query_text(numbers) + spec_text(numbers);
  if (x.size() != numbers.query.size()) text += "only the features that turn are shown\n";
  const bool is_half = reads_halves(input.pairing);
  for (const Json& form : json["forms"]) {
    const auto name = form["name"].get<std::string_view>();
    text += fmt::format("\n{:<13}{}\n", name, form["how"].get<std::string_view>());
    if (name == "matrix") text += matrix_text(input, x.size());
    if (name == (is_half ? "rotate_half" : "element-wise")) text += factors_text(input, x);
    text += fmt::format("     {}\n", vector_text(form["result"]));
    if (name == "matrix") continue;
    text += fmt::format("     differs from the matrix by {:.2g}, of at most {:.2g}\n",
                        form["deviation"].get<double>(), form["bound"].get<double>());
  }
  text +=
      fmt::format("\nrotate()     of the library, in float32\n     {}\n     differs by {:.2g}",
                  vector_text(json["library_result_f32"]), json["library_deviation"].get<double>());
  const Json& bound = json["library_bound"];
  if (!bound.is_null()) text += fmt::format(", of at most {:.2g}", bound.get<double>());
  return text + "\n" + other_text(json["other_pairing"]);
}

}  // namespace

std::string explain_forms(const Numbers& numbers, OutputForm form) {
  const FormInput input(numbers.frequencies, numbers.query_position);
  const Vector x = numbers.window_of(numbers.query);
  const Json json = forms_document(numbers, input, x);
  return form == OutputForm::json ? printed(json) : forms_text(numbers, input, x, json);
}

}  // namespace rotary::cli::explain
