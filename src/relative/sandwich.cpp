// SPDX-License-Identifier: Apache-2.0
// Angles are whole turns and a 64-bit fraction of one, so that no distance is too large.
#include "rotary/sandwich.hpp"

#include <cmath>
#include <numbers>

#include "base/message.hpp"
#include "phase/turns.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"

namespace rotary::relative {

Status check(const Sandwich& bias) {
  constexpr std::int64_t most_dim = std::int64_t{1} << 16;
  constexpr std::int64_t most_heads = std::int64_t{1} << 20;
  if (bias.dim < 2 || bias.dim > most_dim || bias.dim % 2 != 0)
    return invalid_argument("dim must be even and from 2 to 2^16, got ", bias.dim);
  if (!(bias.base >= 1 && std::isfinite(bias.base)))
    return invalid_argument("base must be finite and >= 1, got ", bias.base);
  if (bias.heads < 1 || bias.heads > most_heads)
    return invalid_argument("heads must be from 1 to 2^20, got ", bias.heads);
  return {};
}

SandwichEvaluator::SandwichEvaluator(const Sandwich& bias)
    : heads_(static_cast<double>(bias.heads)) {
  turns_.reserve(to_size(bias.dim / 2));
  for (std::int64_t k = 1; k <= bias.dim / 2; ++k) {
    const double exponent = -2.0 * static_cast<double>(k) / static_cast<double>(bias.dim);
    turns_.push_back(turns_per_position(std::pow(bias.base, exponent)));
  }
}

double SandwichEvaluator::shared_term(const PairOfPositions& pair) const noexcept {
  constexpr double radians = 2 * std::numbers::pi * 0x1p-64;
  const auto distance = static_cast<std::uint64_t>(pair.relative());
  double sum = -static_cast<double>(turns_.size());
  for (const std::uint64_t turns : turns_) {
    const auto phase = static_cast<std::int64_t>(distance * turns);  // modulo a turn, around 0
    sum += std::cos(static_cast<double>(phase) * radians);
  }
  return sum;
}

double SandwichEvaluator::value(std::int64_t head, double term) const noexcept {
  return term * heads_ / (8 * static_cast<double>(head + 1));
}

void SandwichEvaluator::add_gradient(std::span<double> /*sums*/,
                                     const Upstream& /*upstream*/) const noexcept {}

}  // namespace rotary::relative
