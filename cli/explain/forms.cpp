// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/forms.hpp"

#include <algorithm>
#include <complex>

namespace rotary::cli::explain {

FormInput form_input(const Numbers& numbers, std::int64_t position) {
  FormInput input{.pairs = numbers.pairs_at(position),
                  .attention_factor = numbers.attention_factor()};
  const auto begin = static_cast<std::size_t>(numbers.frequencies.window.first_feature);
  for (Pair& pair : input.pairs) {
    for (std::size_t* const feature :
         {&pair.first_feature, &pair.second_feature, &pair.first_result, &pair.second_result}) {
      *feature -= begin;
    }
  }
  return input;
}

Vector matrix_row(const FormInput& input, std::size_t row) {
  Vector entries(2 * input.pairs.size(), 0.0);
  for (const Pair& pair : input.pairs) {
    const double c = input.attention_factor * pair.cos;
    const double s = input.attention_factor * pair.sin;
    if (pair.first_result == row) {
      entries[pair.first_feature] = c;
      entries[pair.second_feature] = -s;
    }
    if (pair.second_result == row) {
      entries[pair.first_feature] = s;
      entries[pair.second_feature] = c;
    }
  }
  return entries;
}

Vector by_matrix(const FormInput& input, const Vector& x) {
  Vector result;
  for (std::size_t row = 0; row < x.size(); ++row) result.push_back(dot(matrix_row(input, row), x));
  return result;
}

Vector by_complex(const FormInput& input, const Vector& x) {
  Vector result(x.size());
  for (const Pair& pair : input.pairs) {
    const std::complex<double> before(x[pair.first_feature], x[pair.second_feature]);
    const auto after = before * std::polar(input.attention_factor, pair.reduced_radians);
    result[pair.first_result] = after.real();
    result[pair.second_result] = after.imag();
  }
  return result;
}

Vector rot(const Vector& x, Elements elements) {
  const std::size_t half = x.size() / 2;
  Vector result(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t first = elements == Elements::every_two ? 2 * i : i;
    const std::size_t second = elements == Elements::every_two ? 2 * i + 1 : i + half;
    result[first] = -x[second];
    result[second] = x[first];
  }
  return result;
}

Vector by_elements(const FormInput& input, const Vector& x, Elements elements) {
  const std::size_t pairs = input.pairs.size();
  const Vector turned_by_90_degrees = rot(x, elements);
  Vector result;
  for (std::size_t feature = 0; feature < x.size(); ++feature) {
    const Pair& pair = input.pairs[elements == Elements::every_two ? feature / 2 : feature % pairs];
    result.push_back(x[feature] * (input.attention_factor * pair.cos) +
                     turned_by_90_degrees[feature] * (input.attention_factor * pair.sin));
  }
  return result;
}

}  // namespace rotary::cli::explain
