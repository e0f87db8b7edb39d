// SPDX-License-Identifier: Apache-2.0
// The steps of docs/theory/rope.md with their numbers, computed for the query and the key.
// Steps 1 to 7 treat one pair as complex numbers (RoFormer, arXiv 2104.09864, section 3.2). Steps 8
// to 12 treat all features that rotate.
#include <fmt/format.h>

#include <complex>
#include <numbers>
#include <variant>

#include "cli/commands/model_text.hpp"
#include "cli/explain/topics.hpp"

namespace rotary::cli::explain {
namespace {

struct Value {
  std::string name;
  double value;
};

using Values = std::vector<Value>;

void to_json(Json& json, const Value& value) {
  json = {{"name", value.name}, {"value", value.value}};
}

struct Step {
  std::string title;
  std::string equation;
  Values values;
  Check check;
  std::string not_so = {};  // a variant that breaks the equation; empty: none shown
  Values not_so_values = {};
};

using Complex = std::complex<double>;

struct Plane {
  const Numbers& numbers;
  std::size_t pair;
  Complex q, k;  // before any position
  std::int64_t m, n;

  [[nodiscard]] double angle(std::int64_t position) const {
    return numbers.pairs_at(position)[pair].reduced_radians;
  }
  [[nodiscard]] Complex turned(Complex z, std::int64_t position) const {
    return z * std::polar(1.0, angle(position));
  }
  // A bound on the error of a step's products of q and k.
  [[nodiscard]] double bound() const { return rounding_bound(2) * std::abs(q) * std::abs(k); }
};

// The equal angle in [-pi, pi].
double wrapped(double radians) { return std::remainder(radians, 2 * std::numbers::pi); }

double score(Complex a, Complex b) { return (a * std::conj(b)).real(); }

Plane plane_of(const Numbers& numbers) {
  const std::vector<Pair> pairs = numbers.pairs_at(0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Complex q(numbers.query[pairs[i].first_feature], numbers.query[pairs[i].second_feature]);
    const Complex k(numbers.key[pairs[i].first_feature], numbers.key[pairs[i].second_feature]);
    if (q == 0.0 || k == 0.0) continue;
    return {numbers, i, q, k, numbers.query_position, numbers.key_position};
  }
  fail_usage("--values and --key-values must share a pair that is not 0 in either, got none");
}

Step inner_product(const Plane& plane) {
  const double sum = plane.q.real() * plane.k.real() + plane.q.imag() * plane.k.imag();
  const double real_part = score(plane.q, plane.k);
  return {
      fmt::format("An inner product is the real part of a complex product (pair {})", plane.pair),
      "<q, k> = Re(q conj(k)), q = a + ib",
      Values{{"<q, k>", sum}, {"Re(q conj(k))", real_part}},
      Check{std::abs(sum - real_part), plane.bound()},
      "without the conjugate the angles of q and k add",
      Values{{"Re(q k)", (plane.q * plane.k).real()}}};
}

Step lengths_and_angles(const Plane& plane) {
  const Complex q = plane.turned(plane.q, plane.m);
  const Complex k = plane.turned(plane.k, plane.n);
  const double lengths = std::abs(q) * std::abs(k);
  const double angles = std::arg(q) - std::arg(k);
  return {"Lengths and angles separate", "q' conj(k') = |q'| |k'| e^(i(angle of q' - angle of k'))",
          Values{{"|q'| |k'|", lengths},
                 {"angle of q' - angle of k'", angles},
                 {"|q'| |k'| cos of it", lengths * std::cos(angles)},
                 {"Re(q' conj(k'))", score(q, k)}},
          Check{std::abs(q * std::conj(k) - std::polar(lengths, angles)), plane.bound()}};
}

Step lengths(const Plane& plane) {
  constexpr double rate = 1.01;
  const double before = std::abs(plane.q) * std::abs(plane.k);
  const double after =
      std::abs(plane.turned(plane.q, plane.m)) * std::abs(plane.turned(plane.k, plane.m));
  const double shrinking = std::abs(plane.q) * std::pow(rate, -10);
  const double growing = std::abs(plane.k) * std::pow(rate, 10);
  return {"m = n: distance 0 is that of two tokens at 0, which fixes the lengths",
          "|f(q, m)| |f(k, m)| = |q| |k|",
          Values{{"|q| |k|", before},
                 {fmt::format("|q'| |k'| both at {}", plane.m), after},
                 {"q by 1.01^-m, k by 1.01^n, at 10 (xPos)", shrinking * growing}},
          Check{larger(std::abs(after - before), std::abs(shrinking * growing - before)),
                plane.bound()},
          "both longer by 1.01 for each position",
          Values{{"|q'| |k'| both at 10", before * std::pow(rate, 20)}}};
}

Step one_angle(const Plane& plane) {
  const double of_q = wrapped(std::arg(plane.turned(plane.q, plane.m)) - std::arg(plane.q));
  const double of_k = wrapped(std::arg(plane.turned(plane.k, plane.m)) - std::arg(plane.k));
  const Complex alone = plane.q * std::polar(1.0, plane.angle(1));
  return {"m = n again: the angle added is of the position alone, the same for q and k",
          "angle of f(q, m) - angle of q = phi(m) = angle of f(k, m) - angle of k",
          Values{{fmt::format("phi({}) from q", plane.m), of_q},
                 {fmt::format("phi({}) from k", plane.m), of_k}},
          Check{std::abs(wrapped(of_q - of_k)), rounding_bound(2)},
          "turning the query alone: distance 0 has two scores",
          Values{{"score at m = n = 0", score(plane.q, plane.k)},
                 {"score at m = n = 1", score(alone, plane.k)}}};
}

Step progression(const Plane& plane) {
  const double theta = plane.angle(1);
  Step step{"n = m + 1: neighbours have one distance, so phi grows evenly",
            "phi(m + 1) - phi(m) = theta, phi(m) = m theta (phi(0) = 0)", Values{{"theta", theta}},
            Check{0, rounding_bound(2)}, "phi(m) = m^2 theta: distance 1 has many scores"};
  for (const std::int64_t m : {plane.m, plane.m + 1, plane.m + 1000}) {
    const double step_radians = wrapped(plane.angle(m + 1) - plane.angle(m));
    step.values.push_back({fmt::format("phi({}) - phi({})", m + 1, m), step_radians});
    step.check.deviation = larger(step.check.deviation, std::abs(wrapped(step_radians - theta)));
  }
  for (const int n : {0, 1, 2}) {
    const double turned = (2.0 * n + 1.0) * theta;  // (n + 1)^2 - n^2
    step.not_so_values.push_back({fmt::format("score at m = {}, n = {}", n + 1, n),
                                  score(plane.q * std::polar(1.0, turned), plane.k)});
  }
  return step;
}

Step rotation(const Plane& plane) {
  const double c = std::cos(plane.angle(plane.m));
  const double s = std::sin(plane.angle(plane.m));
  const double x = plane.q.real();
  const double y = plane.q.imag();
  const Complex by_matrix(x * c - y * s, x * s + y * c);
  const Complex by_product = plane.turned(plane.q, plane.m);
  return {
      "The solution is a rotation",
      "f(q, m) = q e^(i m theta) = | cos m theta  -sin m theta | q\n"
      "                            | sin m theta   cos m theta |",
      Values{{"matrix, first", by_matrix.real()},
             {"matrix, second", by_matrix.imag()},
             {"Re(q e^(i m theta))", by_product.real()},
             {"Im(q e^(i m theta))", by_product.imag()}},
      Check{larger(std::abs(by_matrix - by_product), std::abs(plane.turned(plane.q, 0) - plane.q)),
            rounding_bound(2) * std::abs(plane.q)}};
}

Step relative(const Plane& plane) {
  const double expected = score(plane.turned(plane.q, plane.m - plane.n), plane.k);
  Step step{"The score knows the distance alone",
            "<f(q, m), f(k, n)> = Re(q conj(k) e^(i(m - n) theta))",
            Values{{fmt::format("distance {}", plane.m - plane.n), expected}},
            Check{0, plane.bound()}, "adding e^(i m theta) in place of turning by it"};
  for (const std::int64_t shift : {0, 1, 1000, 1'000'000}) {
    const std::int64_t m = plane.m + shift;
    const std::int64_t n = plane.n + shift;
    const double turned = score(plane.turned(plane.q, m), plane.turned(plane.k, n));
    const double added = score(plane.q + plane.turned(1, m), plane.k + plane.turned(1, n));
    step.values.push_back({fmt::format("score at m = {}, n = {}", m, n), turned});
    step.not_so_values.push_back({fmt::format("score at m = {}, n = {}", m, n), added});
    step.check.deviation = larger(step.check.deviation, std::abs(turned - expected));
  }
  return step;
}

// The query and key without unrotated features, which add the same to every score.
struct Heads {
  const Numbers& numbers;
  Vector q = numbers.window_of(numbers.query);
  Vector k = numbers.window_of(numbers.key);
  FormInput at_m = {numbers.frequencies, numbers.query_position};
  FormInput at_n = {numbers.frequencies, numbers.key_position};

  [[nodiscard]] double bound() const {
    return rounding_bound(q.size()) * numbers.attention_factor() * norm(q);
  }
  [[nodiscard]] double score_bound() const {
    return bound() * numbers.attention_factor() * norm(k);
  }
};

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
  // Position 0 rotates nothing, but puts the query's features in the keys' order.
  const double relative = dot(by_matrix({numbers.frequencies, 0}, heads.q),
                              by_matrix({numbers.frequencies, distance}, heads.k));
  const double score = dot(q, k);
  return {"d features are d/2 planes, each with a frequency of its own",
          "R_m has one 2 x 2 rotation for each pair; R_m^T R_n = R_(n - m)",
          Values{{"<R_m q, R_n k>", score},
                 {"sum of the pairs' scores", sum},
                 {fmt::format("<q, R_({}) k>", distance), relative}},
          Check{larger(std::abs(sum - score), std::abs(relative - score)), heads.score_bound()}};
}

Step elements(const Heads& heads, Elements elements) {
  const bool is_every_two = elements == Elements::every_two;
  const Elements other = is_every_two ? Elements::rotate_half : Elements::every_two;
  const double difference = largest_difference(by_elements_in_order(heads.at_m, heads.q, elements),
                                               by_matrix(heads.at_m, heads.q));
  const double wrong = largest_difference(by_elements(heads.at_m, heads.q, other),
                                          by_elements(heads.at_m, heads.q, elements));
  return {is_every_two ? "Element by element, interleaved: pairs (2i, 2i + 1)"
                       : "Element by element, half: pairs (i, i + d/2)",
          is_every_two ? "x * cos + (-x1, x0, -x3, x2, ...) * sin"
                       : "x * cos + (-x[d/2:], x[:d/2]) * sin",
          Values{{"largest difference from R_m q", difference}},
          Check{difference, heads.bound()},
          "the other of the two on the same features",
          Values{{"largest difference", wrong}}};
}

Step kept_lengths(const Heads& heads) {
  const double factor = heads.numbers.attention_factor();
  const double before = norm(heads.q);
  const double after = norm(by_matrix(heads.at_m, heads.q));
  return {"Turning keeps lengths; an attention factor A multiplies scores by A^2",
          "|A R_m q| = A |q|",
          Values{{"|q|", before}, {"|q'|", after}, {"A", factor}, {"A^2", factor * factor}},
          Check{std::abs(after - factor * before), heads.bound()}};
}

Step frequencies(const Heads& heads) {
  const Numbers& numbers = heads.numbers;
  const Vector& inv_freq = numbers.frequencies.inv_freq;
  const double log_base = std::log(numbers.spec.base.get());
  const auto d = static_cast<double>(heads.q.size());
  Step step{"The frequencies", fmt::format("rope_type {}", rope_type(numbers.spec.scaling)),
            Values{{"theta of pair 0", inv_freq.front()},
                   {"tokens of a turn", wavelength_tokens(inv_freq.front())},
                   {fmt::format("theta of pair {}", inv_freq.size() - 1), inv_freq.back()},
                   {"tokens of a turn", wavelength_tokens(inv_freq.back())}},
            Check{}};
  const bool is_exact = numbers.frequencies.numerics == Numerics::exact;
  if (!is_exact || !std::holds_alternative<NoScaling>(numbers.spec.scaling)) return step;
  step.equation = "theta_i = base^(-2i/d), i = 0 ... d/2 - 1";
  for (std::size_t i = 0; i < inv_freq.size(); ++i) {
    const double formula = std::exp(-2 * static_cast<double>(i) / d * log_base);
    step.check.deviation =
        larger(step.check.deviation, std::abs(std::abs(inv_freq[i]) / formula - 1));
  }
  // Relative error in units of 2^-53: 4 ln base from the exponent, which is at most ln base, and 8
  // from exp and pow.
  step.check.bound = (8 + 4 * log_base) * 0x1p-53;
  const double of_one = std::exp(-(d / 2 - 1) / d * log_base);
  step.not_so = "the exponent i/d in place of 2i/d: positions repeat early";
  step.not_so_values = {{"tokens of the slowest turn", wavelength_tokens(of_one)}};
  return step;
}

std::vector<Step> derivation_of(const Numbers& numbers) {
  const Plane plane = plane_of(numbers);
  const Heads heads{numbers};
  std::vector<Step> steps = {inner_product(plane),
                             lengths_and_angles(plane),
                             lengths(plane),
                             one_angle(plane),
                             progression(plane),
                             rotation(plane),
                             relative(plane),
                             blocks(heads),
                             elements(heads, Elements::every_two),
                             elements(heads, Elements::rotate_half),
                             kept_lengths(heads),
                             frequencies(heads)};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    require(steps[i].check, fmt::format("step {}", i + 1));
  }
  return steps;
}

std::string values_text(const Values& values) {
  std::string text;
  for (const Value& each : values) {
    text += fmt::format("       {:<42} {:>14}\n", each.name, number_text(each.value));
  }
  return text;
}

std::string text_of(const Numbers& numbers, const std::vector<Step>& steps) {
  std::string text =
      pair_text(numbers) +
      "\nAsked for: functions f(q, m) and f(k, n) whose inner product depends on q, k and\n"
      "m - n alone, with f(x, 0) = x.\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto [title, equation, values, check, not_so, not_so_values] = steps[i];
    if (const auto end = equation.find('\n'); end != std::string::npos)
      equation.insert(end + 1, "    ");
    text += fmt::format("\n{:<4}{}\n    {}\n{}", i + 1, title, equation, values_text(values));
    if (check.bound > 0) {
      text += fmt::format("       {:<42} {:>14}\n", "differs by at most",
                          fmt::format("{:.1e}", check.deviation));
    }
    if (not_so.empty()) continue;
    text += fmt::format("    Not so: {}\n{}", not_so, values_text(not_so_values));
  }
  return text + "\nThe argument, by the same numbers: docs/theory/rope.md\n";
}

Json json_of(const Numbers& numbers, const std::vector<Step>& steps) {
  Json json = document_of_pair("derivation", numbers);
  json["steps"] = json_array(steps, [number = 0](const Step& step) mutable {
    Json row = {{"number", ++number},
                {"title", step.title},
                {"equation", step.equation},
                {"values", step.values}};
    add_check(row, step.check);
    if (!step.not_so.empty()) {
      row["counterexample"] = {{"what", step.not_so}, {"values", step.not_so_values}};
    }
    return row;
  });
  return json;
}

}  // namespace

std::string explain_derivation(const Numbers& numbers, OutputForm form) {
  const std::vector<Step> steps = derivation_of(numbers);
  return form == OutputForm::json ? printed(json_of(numbers, steps)) : text_of(numbers, steps);
}

}  // namespace rotary::cli::explain
