// SPDX-License-Identifier: Apache-2.0
// The forms of one rotation, computed on the same numbers: equal, as long as each reads the order
// of features that it is for; and what the other order makes of the same vector.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/explain/forms.hpp"
#include "cli/explain/topics.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::size_t most_shown_of_matrix = 8;

struct Form {
  std::string_view name;
  std::string_view how;
  Vector result;
  Check check;  // against the first
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

std::string_view elements_name(Elements elements) {
  return elements == Elements::every_two ? "element-wise" : "rotate_half";
}

struct Written {
  std::string_view name;
  std::string_view how;
  Vector result;
};

// The two element-wise forms: the one of this pairing on x as it is, the other on x in its order,
// with P the order (0, 2, 4, ..., 1, 3, 5, ...).
std::vector<Written> element_forms(const Numbers& numbers, const FormInput& input,
                                   const Vector& x) {
  const std::vector<std::size_t> order = order_of_half(x.size());
  const auto plain = [&](const Vector& of, Elements elements) {
    return by_elements(input, of, elements);
  };
  switch (numbers.frequencies.window.pairing.get()) {
    case Pairing::half:
      return {
          {elements_name(Elements::every_two), "P (P^-1 x * cos + rotate_every_two(P^-1 x) * sin)",
           permuted(plain(permuted_back(x, order), Elements::every_two), order)},
          {elements_name(Elements::rotate_half), "x * cos + rotate_half(x) * sin",
           plain(x, Elements::rotate_half)}};
    case Pairing::interleaved:
      return {{elements_name(Elements::every_two), "x * cos + rotate_every_two(x) * sin",
               plain(x, Elements::every_two)},
              {elements_name(Elements::rotate_half), "P^-1 (P x * cos + rotate_half(P x) * sin)",
               permuted_back(plain(permuted(x, order), Elements::rotate_half), order)}};
    case Pairing::interleaved_to_half:
      return {{elements_name(Elements::every_two), "P (x * cos + rotate_every_two(x) * sin)",
               permuted(plain(x, Elements::every_two), order)},
              {elements_name(Elements::rotate_half), "P x * cos + rotate_half(P x) * sin",
               plain(permuted(x, order), Elements::rotate_half)}};
  }
  return {};
}

OtherPairing other_pairing(const Numbers& numbers, const FormInput& input, const Vector& x,
                           const Vector& right) {
  const bool is_half = numbers.frequencies.window.pairing.get() == Pairing::half;
  OtherPairing other{
      .pairing = is_half ? Pairing::interleaved : Pairing::half, .result = {}, .difference = 0};
  other.result = by_elements(input, x, is_half ? Elements::every_two : Elements::rotate_half);
  other.difference = largest_difference(other.result, right);
  return other;
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
    const double length = norm({right[pair.first_result], right[pair.second_result]});
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
  const FormInput input = form_input(numbers, numbers.query_position);
  const Vector x = window_of(numbers.query, numbers.frequencies.window);
  const Vector right = by_matrix(input, x);
  std::vector<Written> written = {
      {"matrix", "R x, R with d x d entries", right},
      {"complex", "(x_a + i x_b) e^(i angle), pair (a, b)", by_complex(input, x)}};
  for (Written& each : element_forms(numbers, input, x)) written.push_back(std::move(each));
  Forms forms{.input = input,
              .x = x,
              .forms = {},
              .other = other_pairing(numbers, input, x, right),
              .library = library_of(numbers, input, right)};
  const double bound = rounding_bound(x.size()) * numbers.attention_factor() * norm(x);
  for (Written& each : written) {
    const Check check{.deviation = largest_difference(each.result, right), .bound = bound};
    require(check, each.name);
    forms.forms.push_back({each.name, each.how, std::move(each.result), check});
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

std::string factors_text(const Forms& forms, std::string_view own) {
  const std::size_t d = forms.x.size();
  if (d > most_shown_of_matrix) return {};
  const bool is_half = own == elements_name(Elements::rotate_half);
  const Elements elements = is_half ? Elements::rotate_half : Elements::every_two;
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
  const std::string_view own = elements_name(
      numbers.frequencies.window.pairing.get() == Pairing::half ? Elements::rotate_half
                                                                : Elements::every_two);
  for (const Form& form : forms.forms) {
    text += fmt::format("\n{:<13}{}\n", form.name, form.how);
    if (form.name == "matrix") text += matrix_text(forms);
    if (form.name == own) text += factors_text(forms, own);
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

std::string json_of(const Numbers& numbers, const Forms& forms) {
  JsonWriter json = begin_document("forms");
  write_query(json, numbers);
  json.key("forms");
  json.begin_array();
  for (const Form& form : forms.forms) {
    json.begin_object();
    json.member("name", form.name);
    json.member("how", form.how);
    json.array("result", form.result);
    write_check(json, form.check);
    json.end_object();
  }
  json.end_array();
  json.array("library_result_f32", forms.library.result);
  json.member("library_deviation", forms.library.check.deviation);
  json.key("other_pairing");
  json.begin_object();
  json.member("pairing", to_string(forms.other.pairing));
  json.array("result", forms.other.result);
  json.member("largest_difference", forms.other.difference);
  json.array("order_of_half", order_of_half(forms.x.size()));
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace

std::string explain_forms(const Numbers& numbers, OutputForm form) {
  const Forms forms = forms_of(numbers);
  return form == OutputForm::json ? json_of(numbers, forms) : text_of(numbers, forms);
}

}  // namespace rotary::cli::explain
