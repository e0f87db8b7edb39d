// SPDX-License-Identifier: Apache-2.0
#include "rotary/kerple.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"

namespace rotary {
namespace relative {
namespace {

constexpr double least = 0.01;    // eps of chijames/KERPLE
constexpr double most_power = 2;  // beyond, the kernel is not conditionally positive definite

struct Parameter {
  std::string_view name;
  const std::vector<double>& values;
  double most = largest_parameter;
  std::string_view most_text = "2^256";
};

Status check_positive(const Parameter& parameter) {
  for (const double value : parameter.values) {
    if (!(value > 0 && value <= parameter.most)) {
      return invalid_argument(parameter.name, " must be > 0 and <= ", parameter.most_text, ", got ",
                              value);
    }
  }
  return {};
}

Status check_both(const Parameter& p, const Parameter& a) {
  if (p.values.empty() || p.values.size() != a.values.size()) {
    return invalid_argument("p and a must have one number for each head, at least one; got ",
                            p.values.size(), " and ", a.values.size());
  }
  if (auto status = check_positive(p); !status) return status;
  return check_positive(a);
}

void clamp_all(std::vector<double>& values, double most) noexcept {
  for (double& value : values) value = std::clamp(value, least, most);
}

}  // namespace

Status check(const KerpleLog& bias) {
  return check_both({.name = "p", .values = bias.p}, {.name = "a", .values = bias.a});
}

Status check(const KerplePower& bias) {
  return check_both({.name = "p", .values = bias.p, .most = most_power, .most_text = "2"},
                    {.name = "a", .values = bias.a});
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): as every evaluator's
double KerpleLogEvaluator::shared_term(const PairOfPositions& pair) const noexcept {
  return pair.distance();
}

double KerpleLogEvaluator::value(std::int64_t head, double term) const noexcept {
  return -bias_.p[to_size(head)] * std::log1p(bias_.a[to_size(head)] * term);
}

void KerpleLogEvaluator::add_gradient(std::span<double> sums,
                                      const Upstream& upstream) const noexcept {
  const std::size_t head = to_size(upstream.head);
  const double distance = upstream.term;
  const double a = bias_.a[head];
  sums[head] -= upstream.gradient * std::log1p(a * distance);
  sums[bias_.p.size() + head] -= upstream.gradient * bias_.p[head] * distance / (1 + a * distance);
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): as every evaluator's
double KerplePowerEvaluator::shared_term(const PairOfPositions& pair) const noexcept {
  return pair.distance();
}

double KerplePowerEvaluator::value(std::int64_t head, double term) const noexcept {
  return -bias_.a[to_size(head)] * std::pow(term, bias_.p[to_size(head)]);
}

// At distance 0 nothing depends on a or p.
void KerplePowerEvaluator::add_gradient(std::span<double> sums,
                                        const Upstream& upstream) const noexcept {
  const std::size_t head = to_size(upstream.head);
  const double distance = upstream.term;
  if (distance == 0) return;
  const double power = std::pow(distance, bias_.p[head]);
  sums[head] -= upstream.gradient * power;
  sums[bias_.a.size() + head] -= upstream.gradient * bias_.a[head] * power * std::log(distance);
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
