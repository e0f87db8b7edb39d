// SPDX-License-Identifier: Apache-2.0
#include "rotary/fire.hpp"

#include <cmath>
#include <string_view>

#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"

namespace rotary::relative {
namespace {

Status check_bounded(std::string_view name, std::span<const double> values) {
  for (const double value : values) {
    if (!(std::abs(value) <= largest_parameter))
      return invalid_argument(name, " must be from -2^256 to 2^256, got ", value);
  }
  return {};
}

double sign(double value) noexcept { return value > 0 ? 1 : (value < 0 ? -1 : 0); }

// x and what its derivatives are made of.
struct Normalised {
  double distance = 0;     // |i - j|
  double reach = 0;        // max(i, |threshold|)
  double numerator = 0;    // ln(|c| distance + 1)
  double denominator = 0;  // ln(|c| reach + 1) + epsilon
};

Normalised normalised(const Fire& fire, const PairOfPositions& pair) noexcept {
  const double c = std::abs(fire.c);
  const double distance = pair.distance();
  const double reach = std::fmax(static_cast<double>(pair.query), std::abs(fire.threshold));
  return {.distance = distance,
          .reach = reach,
          .numerator = std::log1p(c * distance),
          .denominator = std::log1p(c * reach) + fire.epsilon};
}

// Where each kind of parameter begins among the gradients.
struct Places {
  std::size_t hidden_weight = 2;  // after c and threshold
  std::size_t hidden_bias = 0;
  std::size_t output_weight = 0;
  std::size_t output_bias = 0;
};

Places places_of(const Fire& fire) noexcept {
  Places places;
  places.hidden_bias = places.hidden_weight + fire.hidden_weight.size();
  places.output_weight = places.hidden_bias + fire.hidden_bias.size();
  places.output_bias = places.output_weight + fire.output_weight.size();
  return places;
}

// d_x: of the loss in x.
void add_input_gradient(std::span<double> sums, const Fire& fire, const Upstream& at, double d_x) {
  const Normalised n = normalised(fire, at.pair);
  const double c = std::abs(fire.c);
  const double d_numerator = d_x / n.denominator;
  const double d_denominator = -d_x * n.numerator / (n.denominator * n.denominator);
  sums[0] += sign(fire.c) * (d_numerator * n.distance / (1 + c * n.distance) +
                             d_denominator * n.reach / (1 + c * n.reach));
  if (std::abs(fire.threshold) > static_cast<double>(at.pair.query))
    sums[1] += sign(fire.threshold) * d_denominator * c / (1 + c * n.reach);
}

}  // namespace

Status check(const Fire& bias) {
  const std::size_t width = bias.hidden_weight.size();
  const std::size_t heads = bias.output_bias.size();
  if (width == 0 || heads == 0 || bias.hidden_bias.size() != width ||
      bias.output_weight.size() != heads * width) {
    return invalid_argument(
        "hidden_weight and hidden_bias must have one number for each hidden unit, output_bias one "
        "for each head and output_weight one for each of both, at least one; got ",
        width, ", ", bias.hidden_bias.size(), ", ", heads, " and ", bias.output_weight.size());
  }
  if (!(bias.epsilon >= 0x1p-100 && bias.epsilon <= 1))
    return invalid_argument("epsilon must be from 2^-100 to 1, got ", bias.epsilon);
  struct Named {
    std::string_view name;
    std::span<const double> values;
  };
  for (const auto& [name, values] :
       {Named{"c", {&bias.c, 1}}, Named{"threshold", {&bias.threshold, 1}},
        Named{"hidden_weight", bias.hidden_weight}, Named{"hidden_bias", bias.hidden_bias},
        Named{"output_weight", bias.output_weight}, Named{"output_bias", bias.output_bias}}) {
    if (auto status = check_bounded(name, values); !status) return status;
  }
  return {};
}

double FireEvaluator::shared_term(const PairOfPositions& pair) const noexcept {
  const Normalised n = normalised(bias_, pair);
  return n.numerator / n.denominator;
}

double FireEvaluator::value(std::int64_t head, double term) const noexcept {
  const std::size_t width = bias_.hidden_weight.size();
  const double* weights = bias_.output_weight.data() + to_size(head) * width;
  double sum = bias_.output_bias[to_size(head)];
  for (std::size_t k = 0; k < width; ++k) {
    const double unit = bias_.hidden_weight[k] * term + bias_.hidden_bias[k];
    if (unit > 0) sum += weights[k] * unit;
  }
  return sum;
}

void FireEvaluator::add_gradient(std::span<double> sums, const Upstream& upstream) const noexcept {
  const Places places = places_of(bias_);
  const std::size_t width = bias_.hidden_weight.size();
  const std::size_t first = to_size(upstream.head) * width;
  const double x = shared_term(upstream.pair);
  double d_x = 0;
  for (std::size_t k = 0; k < width; ++k) {
    const double unit = bias_.hidden_weight[k] * x + bias_.hidden_bias[k];
    if (!(unit > 0)) continue;
    const double d_unit = upstream.gradient * bias_.output_weight[first + k];
    sums[places.output_weight + first + k] += upstream.gradient * unit;
    sums[places.hidden_weight + k] += d_unit * x;
    sums[places.hidden_bias + k] += d_unit;
    d_x += d_unit * bias_.hidden_weight[k];
  }
  sums[places.output_bias + to_size(upstream.head)] += upstream.gradient;
  add_input_gradient(sums, bias_, upstream, d_x);
}

}  // namespace rotary::relative
