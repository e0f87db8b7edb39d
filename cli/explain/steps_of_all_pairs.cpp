// SPDX-License-Identifier: Apache-2.0
// From one pair to d features: the blocks of the matrix, the forms, lengths, frequencies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "cli/commands/model_text.hpp"
#include "cli/explain/derivation.hpp"
#include "cli/explain/forms.hpp"

namespace rotary::cli::explain {
namespace {

// Of the features that turn; the others would add the same to every score.
struct Heads {
  const Numbers& numbers;
  Vector q, k;
  FormInput at_m, at_n;

  [[nodiscard]] double bound() const {
    return rounding_bound(q.size()) * numbers.attention_factor() * norm(q);
  }
  [[nodiscard]] double score_bound() const {
    return bound() * numbers.attention_factor() * norm(k);
  }
};

Heads heads_of(const Numbers& numbers) {
  const HeadWindow& window = numbers.frequencies.window;
  return {.numbers = numbers,
          .q = window_of(numbers.query, window),
          .k = window_of(numbers.key, window),
          .at_m = form_input(numbers, numbers.query_position),
          .at_n = form_input(numbers, numbers.key_position)};
}

Step blocks(const Heads& heads) {
  const Numbers& numbers = heads.numbers;
  const std::int64_t distance = numbers.key_position - numbers.query_position;
  const Vector q = by_matrix(heads.at_m, heads.q);
  const Vector k = by_matrix(heads.at_n, heads.k);
  double sum = 0;
  for (const Pair& pair : heads.at_m.pairs) {
    sum +=
        q[pair.first_result] * k[pair.first_result] + q[pair.second_result] * k[pair.second_result];
  }
  // At position 0 a query is only put in the order in which keys are written.
  const double relative = dot(by_matrix(form_input(numbers, 0), heads.q),
                              by_matrix(form_input(numbers, distance), heads.k));
  const double score = dot(q, k);
  return {.number = 8,
          .title = "d features are d/2 planes, each with a frequency of its own",
          .equation = "R_m has one 2 x 2 rotation for each pair; R_m^T R_n = R_(n - m)",
          .values = {{"<R_m q, R_n k>", score},
                     {"sum of the pairs' scores", sum},
                     {fmt::format("<q, R_({}) k>", distance), relative}},
          .check = {.deviation = std::max(std::abs(sum - score), std::abs(relative - score)),
                    .bound = heads.score_bound()}};
}

Step elements(const Heads& heads, Elements elements) {
  const std::vector<std::size_t> order = order_of_half(heads.q.size());
  const Pairing pairing = heads.numbers.frequencies.window.pairing.get();
  const bool is_every_two = elements == Elements::every_two;
  Vector x = heads.q;
  if (is_every_two && pairing == Pairing::half) x = permuted_back(x, order);
  if (!is_every_two && pairing != Pairing::half) x = permuted(x, order);
  Vector result = by_elements(heads.at_m, x, elements);
  if (is_every_two && pairing != Pairing::interleaved) result = permuted(result, order);
  if (!is_every_two && pairing == Pairing::interleaved) result = permuted_back(result, order);
  const double difference = largest_difference(result, by_matrix(heads.at_m, heads.q));
  const double wrong = largest_difference(
      by_elements(heads.at_m, heads.q, is_every_two ? Elements::rotate_half : Elements::every_two),
      by_elements(heads.at_m, heads.q, elements));
  return {.number = is_every_two ? 9 : 10,
          .title = is_every_two ? "Element by element, interleaved: pairs (2i, 2i + 1)"
                                : "Element by element, half: pairs (i, i + d/2)",
          .equation = is_every_two ? "x * cos + (-x1, x0, -x3, x2, ...) * sin"
                                   : "x * cos + (-x[d/2:], x[:d/2]) * sin",
          .values = {{"largest difference from R_m q", difference}},
          .check = {.deviation = difference, .bound = heads.bound()},
          .counterexample = {{.what = "the other of the two on the same features",
                              .values = {{"largest difference", wrong}}}}};
}

Step kept_lengths(const Heads& heads) {
  const double factor = heads.numbers.attention_factor();
  const double before = norm(heads.q);
  const double after = norm(by_matrix(heads.at_m, heads.q));
  return {.number = 11,
          .title = "Turning keeps lengths; an attention factor A multiplies scores by A^2",
          .equation = "|A R_m q| = A |q|",
          .values = {{"|q|", before}, {"|q'|", after}, {"A", factor}, {"A^2", factor * factor}},
          .check = {.deviation = std::abs(after - factor * before), .bound = heads.bound()}};
}

Step frequencies(const Heads& heads) {
  const Numbers& numbers = heads.numbers;
  const Vector& inv_freq = numbers.frequencies.inv_freq;
  const double log_base = std::log(numbers.spec.base.get());
  const auto d = static_cast<double>(heads.q.size());
  Step step{.number = 12,
            .title = "The frequencies",
            .equation = fmt::format("rope_type {}", rope_type(numbers.spec.scaling)),
            .values = {{"theta of pair 0", inv_freq.front()},
                       {"tokens of a turn", wavelength_tokens(inv_freq.front())},
                       {fmt::format("theta of pair {}", inv_freq.size() - 1), inv_freq.back()},
                       {"tokens of a turn", wavelength_tokens(inv_freq.back())}},
            .check = {}};
  const bool is_exact = numbers.frequencies.numerics == Numerics::exact;
  if (!is_exact || !std::holds_alternative<NoScaling>(numbers.spec.scaling)) return step;
  step.equation = "theta_i = base^(-2i/d), i = 0 ... d/2 - 1";
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double formula = std::exp(-2 * static_cast<double>(i) / d * log_base);
    step.check.deviation =
        std::max(step.check.deviation, std::abs(std::abs(inv_freq[i]) / formula - 1));
  }
  // Relative: the exponent, at most ln base, is off by 4 units of itself, exp and pow by one or
  // two.
  step.check.bound = (8 + 4 * log_base) * 0x1p-53;
  const double of_one = std::exp(-(d / 2 - 1) / d * log_base);
  step.counterexample = {.what = "the exponent i/d in place of 2i/d: positions repeat early",
                         .values = {{"tokens of the slowest turn", wavelength_tokens(of_one)}}};
  return step;
}

}  // namespace

std::vector<Step> steps_of_all_pairs(const Numbers& numbers) {
  const Heads heads = heads_of(numbers);
  return {blocks(heads), elements(heads, Elements::every_two),
          elements(heads, Elements::rotate_half), kept_lengths(heads), frequencies(heads)};
}

}  // namespace rotary::cli::explain
