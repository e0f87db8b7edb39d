// SPDX-License-Identifier: Apache-2.0
// RoFormer (arXiv 2104.09864), section 3.2 and the functional equations behind it, on one pair as
// complex numbers: what is asked for, and what follows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "cli/explain/derivation.hpp"
#include "cli/failure.hpp"

namespace rotary::cli::explain {
namespace {

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
  // What every step may be off by, relative to lengths; angles are off by that many radians.
  [[nodiscard]] double bound() const { return rounding_bound(2) * std::abs(q) * std::abs(k); }
};

// In [-pi, pi].
double wrapped(double radians) { return std::remainder(radians, 2 * std::numbers::pi); }

double score(Complex a, Complex b) { return (a * std::conj(b)).real(); }

Plane plane_of(const Numbers& numbers) {
  const std::vector<Pair> pairs = numbers.pairs_at(0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Complex q(numbers.query[pairs[i].first_feature], numbers.query[pairs[i].second_feature]);
    const Complex k(numbers.key[pairs[i].first_feature], numbers.key[pairs[i].second_feature]);
    if (q == 0.0 || k == 0.0) continue;
    return {.numbers = numbers,
            .pair = i,
            .q = q,
            .k = k,
            .m = numbers.query_position,
            .n = numbers.key_position};
  }
  throw Failure(ExitCode::usage,
                "--values and --key must share a pair that is not 0 in either, got none");
}

Step inner_product(const Plane& plane) {
  const double sum = plane.q.real() * plane.k.real() + plane.q.imag() * plane.k.imag();
  const double real_part = score(plane.q, plane.k);
  return {.number = 1,
          .title = fmt::format("An inner product is the real part of a complex product (pair {})",
                               plane.pair),
          .equation = "<q, k> = Re(q conj(k)), q = a + ib",
          .values = {{"<q, k>", sum}, {"Re(q conj(k))", real_part}},
          .check = {.deviation = std::abs(sum - real_part), .bound = plane.bound()},
          .counterexample = {{.what = "without the conjugate the angles of q and k add",
                              .values = {{"Re(q k)", (plane.q * plane.k).real()}}}}};
}

Step lengths_and_angles(const Plane& plane) {
  const Complex q = plane.turned(plane.q, plane.m);
  const Complex k = plane.turned(plane.k, plane.n);
  const double lengths = std::abs(q) * std::abs(k);
  const double angles = std::arg(q) - std::arg(k);
  return {.number = 2,
          .title = "Lengths and angles separate",
          .equation = "q' conj(k') = |q'| |k'| e^(i(angle of q' - angle of k'))",
          .values = {{"|q'| |k'|", lengths},
                     {"angle of q' - angle of k'", angles},
                     {"|q'| |k'| cos of it", lengths * std::cos(angles)},
                     {"Re(q' conj(k'))", score(q, k)}},
          .check = {.deviation = std::abs(q * std::conj(k) - std::polar(lengths, angles)),
                    .bound = plane.bound()}};
}

Step lengths(const Plane& plane) {
  constexpr double rate = 1.01;
  const double before = std::abs(plane.q) * std::abs(plane.k);
  const double after =
      std::abs(plane.turned(plane.q, plane.m)) * std::abs(plane.turned(plane.k, plane.m));
  const double shrinking = std::abs(plane.q) * std::pow(rate, -10);
  const double growing = std::abs(plane.k) * std::pow(rate, 10);
  return {.number = 3,
          .title = "m = n: distance 0 is that of two tokens at 0, which fixes the lengths",
          .equation = "|f(q, m)| |f(k, m)| = |q| |k|",
          .values = {{"|q| |k|", before},
                     {fmt::format("|q'| |k'| both at {}", plane.m), after},
                     {"q by 1.01^-m, k by 1.01^n, at 10 (xPos)", shrinking * growing}},
          .check = {.deviation =
                        std::max(std::abs(after - before), std::abs(shrinking * growing - before)),
                    .bound = plane.bound()},
          .counterexample = {{.what = "both longer by 1.01 for each position",
                              .values = {{"|q'| |k'| both at 10", before * std::pow(rate, 20)}}}}};
}

Step one_angle(const Plane& plane) {
  const double of_q = wrapped(std::arg(plane.turned(plane.q, plane.m)) - std::arg(plane.q));
  const double of_k = wrapped(std::arg(plane.turned(plane.k, plane.m)) - std::arg(plane.k));
  const Complex alone = plane.q * std::polar(1.0, plane.angle(1));
  return {.number = 4,
          .title = "m = n again: the angle added is of the position alone, the same for q and k",
          .equation = "angle of f(q, m) - angle of q = phi(m) = angle of f(k, m) - angle of k",
          .values = {{fmt::format("phi({}) from q", plane.m), of_q},
                     {fmt::format("phi({}) from k", plane.m), of_k}},
          .check = {.deviation = std::abs(wrapped(of_q - of_k)), .bound = rounding_bound(2)},
          .counterexample = {{.what = "turning the query alone: distance 0 has two scores",
                              .values = {{"score at m = n = 0", score(plane.q, plane.k)},
                                         {"score at m = n = 1", score(alone, plane.k)}}}}};
}

Step progression(const Plane& plane) {
  const double theta = plane.angle(1);
  Step step{
      .number = 5,
      .title = "n = m + 1: neighbours have one distance, so phi grows evenly",
      .equation = "phi(m + 1) - phi(m) = theta, phi(m) = m theta (phi(0) = 0)",
      .values = {{"theta", theta}},
      .check = {.deviation = 0, .bound = rounding_bound(2)},
      .counterexample = {{.what = "phi(m) = m^2 theta: distance 1 has many scores", .values = {}}}};
  for (const std::int64_t m : {plane.m, plane.m + 1, plane.m + 1000}) {
    const double step_radians = wrapped(plane.angle(m + 1) - plane.angle(m));
    step.values.push_back({fmt::format("phi({}) - phi({})", m + 1, m), step_radians});
    step.check.deviation = std::max(step.check.deviation, std::abs(wrapped(step_radians - theta)));
  }
  for (const int n : {0, 1, 2}) {
    const double turned = (2.0 * n + 1.0) * theta;  // (n + 1)^2 - n^2
    step.counterexample->values.push_back({fmt::format("score at m = {}, n = {}", n + 1, n),
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
  return {.number = 6,
          .title = "The solution is a rotation",
          .equation =
              "f(q, m) = q e^(i m theta) = | cos m theta  -sin m theta | q\n"
              "                            | sin m theta   cos m theta |",
          .values = {{"matrix, first", by_matrix.real()},
                     {"matrix, second", by_matrix.imag()},
                     {"Re(q e^(i m theta))", by_product.real()},
                     {"Im(q e^(i m theta))", by_product.imag()}},
          .check = {.deviation = std::max(std::abs(by_matrix - by_product),
                                          std::abs(plane.turned(plane.q, 0) - plane.q)),
                    .bound = rounding_bound(2) * std::abs(plane.q)}};
}

Step relative(const Plane& plane) {
  const double expected = score(plane.turned(plane.q, plane.m - plane.n), plane.k);
  Step step{
      .number = 7,
      .title = "The score knows the distance alone",
      .equation = "<f(q, m), f(k, n)> = Re(q conj(k) e^(i(m - n) theta))",
      .values = {{fmt::format("distance {}", plane.m - plane.n), expected}},
      .check = {.deviation = 0, .bound = plane.bound()},
      .counterexample = {{.what = "adding e^(i m theta) in place of turning by it", .values = {}}}};
  for (const std::int64_t shift : {0, 1, 1000, 1'000'000}) {
    const std::int64_t m = plane.m + shift;
    const std::int64_t n = plane.n + shift;
    const double turned = score(plane.turned(plane.q, m), plane.turned(plane.k, n));
    const double added = score(plane.q + plane.turned(1, m), plane.k + plane.turned(1, n));
    step.values.push_back({fmt::format("score at m = {}, n = {}", m, n), turned});
    step.counterexample->values.push_back({fmt::format("score at m = {}, n = {}", m, n), added});
    step.check.deviation = std::max(step.check.deviation, std::abs(turned - expected));
  }
  return step;
}

}  // namespace

std::vector<Step> steps_of_one_pair(const Numbers& numbers) {
  const Plane plane = plane_of(numbers);
  return {inner_product(plane), lengths_and_angles(plane), lengths(plane), one_angle(plane),
          progression(plane),   rotation(plane),           relative(plane)};
}

}  // namespace rotary::cli::explain
