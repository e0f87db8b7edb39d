// SPDX-License-Identifier: Apache-2.0
// The forms of one rotation, computed on the same numbers: equal, as long as each reads the order
// of features that it is for; and what the other order makes of the same vector.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/explain/topics.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::size_t most_shown_of_matrix = 8;

struct Form {
  std::string_view name;
  std::string_view how;
  Vector result;
  Check check = {};  // against the first
};

// The other pairing on the same weights, and on weights in its own order.
struct OtherPairing {
  Pairing pairing;
  Vector result;
  double difference;
};

struct Library {
  Vector result;  // float32
  Check check;
  bool is_bounded;  // the contract speaks of these numbers
};

struct Forms {
  FormInput input;
  Vector x;  // the features that turn
  std::vector<Form> forms;
  OtherPairing other;
  Library library;
};

// The element-wise form that reads features in the order of the pairing.
Elements own_elements(Pairing pairing) {
  return pairing == Pairing::half ? Elements::rotate_half : Elements::every_two;
}

// As it is written for features in the order of the pairing, with P the order (0, 2, 4, ..., 1, 3,
// 5, ...).
Form element_form(const FormInput& input, const Vector& x, Elements elements) {
  const bool is_every_two = elements == Elements::every_two;
  const auto how = [&]() -> std::string_view {
    switch (input.pairing) {
      case Pairing::half:
        return is_every_two ? "P (P^-1 x * cos + rotate_every_two(P^-1 x) * sin)"
                            : "x * cos + rotate_half(x) * sin";
      case Pairing::interleaved:
        return is_every_two ? "x * cos + rotate_every_two(x) * sin"
                            : "P^-1 (P x * cos + rotate_half(P x) * sin)";
      case Pairing::interleaved_to_half:
        return is_every_two ? "P (x * cos + rotate_every_two(x) * sin)"
                            : "P x * cos + rotate_half(P x) * sin";
    }
    return {};
  }();
  return {is_every_two ? "element-wise" : "rotate_half", how,
          by_elements_in_order(input, x, elements)};
}

OtherPairing other_pairing(const FormInput& input, const Vector& x, const Vector& right) {
  const Pairing other = input.pairing == Pairing::half ? Pairing::interleaved : Pairing::half;
  Vector result = by_elements(input, x, own_elements(other));
  const double difference = largest_difference(result, right);
  return {.pairing = other, .result = std::move(result), .difference = difference};
}

// rotate() against the forms: its own bound, of float32 values, and the rounding of x to float32, 2
// units for a pair. The contract speaks of exact numerics and of pairs of a hypot of 0 or in
// [2^-100, 2^100].
Library library_of(const Numbers& numbers, const FormInput& input, const Vector& right) {
  const std::vector<float> head =
      rotated_by_library(numbers.query, numbers.frequencies, numbers.query_position);
  Library library{.result = window_of(Vector(head.begin(), head.end()), numbers.frequencies.window),
                  .check = {},
                  .is_bounded = numbers.frequencies.numerics == Numerics::exact};
  double longest = 0;
  for (const Pair& pair : input.pairs) {
    const double length = std::hypot(right[pair.first_result], right[pair.second_result]);
    library.is_bounded &= length == 0 || (length >= 0x1p-100 && length <= 0x1p100);
    longest = std::max(longest, length);
  }
  const double units = 2 + rotate_error_bound(Direction::forward, numbers.attention_factor(),
                                              numbers.query_position);
  library.check = {.deviation = largest_difference(library.result, right),
                   .bound = units * 0x1p-24 * longest};
  return library;
}

Forms forms_of(const Numbers& numbers) {
  const FormInput input = form_input(numbers.frequencies, numbers.query_position);
  const Vector x = window_of(numbers.query, numbers.frequencies.window);
  const Vector right = by_matrix(input, x);
  Forms forms{.input = input,
              .x = x,
              .forms = {{"matrix", "R x, R with d x d entries", right},
                        {"complex", "(x_a + i x_b) e^(i angle), pair (a, b)", by_complex(input, x)},
                        element_form(input, x, Elements::every_two),
                        element_form(input, x, Elements::rotate_half)},
              .other = other_pairing(input, x, right),
              .library = library_of(numbers, input, right)};
  const double bound = rounding_bound(x.size()) * numbers.attention_factor() * norm(x);
  for (Form& form : forms.forms) {
    form.check = {.deviation = largest_difference(form.result, right), .bound = bound};
    require(form.check, form.name);
  }
  if (forms.library.is_bounded) require(forms.library.check, "rotate()");
  return forms;
}

std::string matrix_text(const Forms& forms) {
  if (forms.x.size() > most_shown_of_matrix) {
    return fmt::format("          {0} x {0} entries, two in each row that are not 0\n",
                       forms.x.size());
  }
  std::string text;
  for (std::size_t row = 0; row < forms.x.size(); ++row) {
    text += fmt::format("          | {:9.6f} |\n", fmt::join(matrix_row(forms.input, row), " "));
  }
  return text;
}

std::string factors_text(const Forms& forms) {
  const std::size_t d = forms.x.size();
  if (d > most_shown_of_matrix) return {};
  const Elements elements = own_elements(forms.input.pairing);
  const bool is_half = elements == Elements::rotate_half;
  Vector cosines;
  Vector sines;
  for (std::size_t feature = 0; feature < d; ++feature) {
    const Pair& pair = forms.input.pairs[is_half ? feature % (d / 2) : feature / 2];
    cosines.push_back(forms.input.attention_factor * pair.cos);
    sines.push_back(forms.input.attention_factor * pair.sin);
  }
  return fmt::format("          cos {}\n          sin {}\n          {} = {}\n",
                     vector_text(cosines), vector_text(sines),
                     is_half ? "rotate_half(x)" : "rotate_every_two(x)",
                     exact_vector_text(rot(forms.x, elements)));
}

std::string order_text(std::size_t features) {
  if (features > 2 * most_shown_of_matrix) {
    return fmt::format("(0, 2, 4, ..., {}, 1, 3, 5, ..., {})", features - 2, features - 1);
  }
  return fmt::format("({})", fmt::join(order_of_half(features), ", "));
}

std::string other_text(const Forms& forms) {
  std::string text = fmt::format("\nThe other pairing, {}, on the same features\n     {}\n",
                                 to_string(forms.other.pairing), vector_text(forms.other.result));
  if (forms.x.size() == 2) {
    return text + "     Two features have one pair: both pairings are the same.\n";
  }
  text += fmt::format(
      "     differs by up to {}; norm {}, as the right one: no check of lengths finds it.\n",
      number_text(forms.other.difference), number_text(norm(forms.other.result)));
  return text + fmt::format(
                    "     P = {}: half(P x) = P interleaved(x).\n"
                    "     Rows of W_q and W_k in the order P make half of interleaved, in the\n"
                    "     order back interleaved of half: converters of checkpoints do it.\n",
                    order_text(forms.x.size()));
}

std::string text_of(const Numbers& numbers, const Forms& forms) {
  std::string text = query_text(numbers) + spec_text(numbers);
  if (forms.x.size() != numbers.query.size()) text += "only the features that turn are shown\n";
  const Form& own = forms.forms[forms.input.pairing == Pairing::half ? 3 : 2];
  for (const Form& form : forms.forms) {
    text += fmt::format("\n{:<13}{}\n", form.name, form.how);
    if (form.name == "matrix") text += matrix_text(forms);
    if (form.name == own.name) text += factors_text(forms);
    text += fmt::format("     {}\n", vector_text(form.result));
    if (form.name == "matrix") continue;
    text += fmt::format("     differs from the matrix by {:.2g}, of at most {:.2g}\n",
                        form.check.deviation, form.check.bound);
  }
  text += fmt::format("\nrotate()     of the library, in float32\n     {}\n     differs by {:.2g}",
                      vector_text(forms.library.result), forms.library.check.deviation);
  text += forms.library.is_bounded ? fmt::format(", of at most {:.2g}\n", forms.library.check.bound)
                                   : "\n";
  return text + other_text(forms);
}

Json json_of(const Numbers& numbers, const Forms& forms) {
  Json json = document_of_query("forms", numbers);
  json["forms"] = json_array(forms.forms, [](const Form& form) {
    Json row = {{"name", form.name}, {"how", form.how}, {"result", form.result}};
    add_check(row, form.check);
    return row;
  });
  json["library_result_f32"] = forms.library.result;
  json["library_deviation"] = forms.library.check.deviation;
  json["other_pairing"] = {{"pairing", to_string(forms.other.pairing)},
                           {"result", forms.other.result},
                           {"largest_difference", forms.other.difference},
                           {"order_of_half", order_of_half(forms.x.size())}};
  return json;
}

}  // namespace

std::string explain_forms(const Numbers& numbers, OutputForm form) {
  const Forms forms = forms_of(numbers);
  return form == OutputForm::json ? printed(json_of(numbers, forms)) : text_of(numbers, forms);
}

}  // namespace rotary::cli::explain
