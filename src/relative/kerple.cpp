// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {
namespace relative {
namespace {

constexpr double least = 0.01;    // eps of chijames/KERPLE
constexpr double most_power = 2;  // above 2, the kernel is not conditionally positive definite

template <class Kerple>
Status check_both(const Kerple& bias) {
  if (bias.p.empty() || bias.p.size() != bias.a.size()) {
    return invalid_argument("p and a must have one number for each head, at least one; got ",
                            bias.p.size(), " and ", bias.a.size());
  }
  return check_numbers(bias);
}

void clamp_all(std::vector<double>& values, double most) noexcept {
  for (double& value : values) value = std::clamp(value, least, most);
}

}  // namespace

Status check(const KerpleLog& bias) { return check_both(bias); }

Status check(const KerplePower& bias) { return check_both(bias); }

double formula(const KerpleLog& of, std::int64_t head, double relative) noexcept {
  return -of.p[to_size(head)] * std::log1p(of.a[to_size(head)] * std::fabs(relative));
}

void add_gradient(const KerpleLog& of, std::span<double> sums, const Upstream& upstream) noexcept {
  const std::size_t head = to_size(upstream.head);
  const double distance = std::fabs(upstream.term);
  const double a = of.a[head];
  sums[head] -= upstream.gradient * std::log1p(a * distance);
  sums[of.p.size() + head] -= upstream.gradient * of.p[head] * distance / (1 + a * distance);
}

double formula(const KerplePower& of, std::int64_t head, double relative) noexcept {
  return -of.a[to_size(head)] * std::pow(std::fabs(relative), of.p[to_size(head)]);
}

// Adds the gradients of a and p. At distance 0 the bias does not depend on them.
void add_gradient(const KerplePower& of, std::span<double> sums,
                  const Upstream& upstream) noexcept {
  const std::size_t head = to_size(upstream.head);
  const double distance = std::fabs(upstream.term);
  if (distance == 0) return;
  const double power = std::pow(distance, of.p[head]);
  sums[head] -= upstream.gradient * power;
  sums[of.a.size() + head] -= upstream.gradient * of.a[head] * power * std::log(distance);
}

}  // namespace relative

KerpleLog clamped(KerpleLog kerple) noexcept {
  relative::clamp_all(kerple.p, relative::largest_parameter);
  relative::clamp_all(kerple.a, relative::largest_parameter);
  return kerple;
}

KerplePower clamped(KerplePower kerple) noexcept {
  relative::clamp_all(kerple.a, relative::largest_parameter);
  relative::clamp_all(kerple.p, relative::most_power);
  return kerple;
}

}  // namespace rotary
