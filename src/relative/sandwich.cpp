// SPDX-License-Identifier: Apache-2.0
// Angles are 64-bit fractions of a turn (whole turns drop out), so no distance is too large.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

#include "base/message.hpp"
#include "phase/turns.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::relative {
namespace {

// The angle in radians, between -pi and pi, of a phase in units of 2^-64 turns.
double angle_of(std::uint64_t phase) noexcept {
  constexpr double radians = 2 * std::numbers::pi * 0x1p-64;
  return static_cast<double>(static_cast<std::int64_t>(phase)) * radians;
}

struct Turn {
  double cos = 1;
  double sin = 0;

  static Turn by(std::uint64_t phase) noexcept {
    return {.cos = std::cos(angle_of(phase)), .sin = std::sin(angle_of(phase))};
  }
  friend Turn operator*(const Turn& a, const Turn& b) noexcept {
    return {.cos = a.cos * b.cos - a.sin * b.sin, .sin = a.sin * b.cos + a.cos * b.sin};
  }
};

// A distance is split into three digits: a multiple of 32 * 32, a multiple of 32, and the rest.
constexpr std::size_t digit = 32;

// cos and sin of 0, 1, ..., 31 times a phase. Multiple i is the product of multiples i / 2 and
// i - i / 2. Multiple 1 has an error of at most 8 * 2^-53. The products enlarge it at most 32 times
// and add 5 roundings.
struct Multiples {
  std::array<double, digit> cos = {1};
  std::array<double, digit> sin = {0};

  explicit Multiples(std::uint64_t phase) noexcept {
    set(1, Turn::by(phase));
    for (std::size_t i = 2; i < digit; ++i) set(i, at(i / 2) * at(i - i / 2));
  }
  void set(std::size_t i, const Turn& turn) noexcept {
    cos[i] = turn.cos;
    sin[i] = turn.sin;
  }
  [[nodiscard]] Turn at(std::size_t i) const noexcept { return {.cos = cos[i], .sin = sin[i]}; }
};

// Adds the cosines at the distances first, first + 1, ... to sums.
void add_cosines(std::uint64_t turns_per_distance, std::uint64_t first,
                 std::span<double> sums) noexcept {
  const Multiples ones(turns_per_distance);
  const Multiples runs(digit * turns_per_distance);
  std::uint64_t far = 0;
  Turn to_far;
  for (std::size_t i = 0; i < sums.size();) {
    const std::uint64_t distance = first + i;
    if (const std::uint64_t below = distance % (digit * digit); distance - below != far) {
      far = distance - below;
      to_far = Turn::by(far * turns_per_distance);
    }
    const Turn begin = to_far * runs.at(distance / digit % digit);
    const std::size_t one = distance % digit;
    const std::size_t count = std::min(digit - one, sums.size() - i);
    for (std::size_t j = 0; j < count; ++j)
      sums[i + j] += begin.cos * ones.cos[one + j] - begin.sin * ones.sin[one + j];
    i += count;
  }
}

}  // namespace

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
  const auto distance = static_cast<std::uint64_t>(pair.relative());
  double sum = -static_cast<double>(turns_.size());
  for (const std::uint64_t turns : turns_) sum += std::cos(angle_of(distance * turns));
  return sum;
}

void SandwichEvaluator::fill_terms(std::int64_t first, std::span<double> terms) const noexcept {
  std::fill(terms.begin(), terms.end(), -static_cast<double>(turns_.size()));
  for (const std::uint64_t turns : turns_)
    add_cosines(turns, static_cast<std::uint64_t>(first), terms);
}

double SandwichEvaluator::value(std::int64_t head, double term) const noexcept {
  return term * heads_ / (8 * static_cast<double>(head + 1));
}

void SandwichEvaluator::add_gradient(std::span<double> /*sums*/,
                                     const Upstream& /*upstream*/) const noexcept {}

}  // namespace rotary::relative
