// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {
namespace relative {
namespace {

// Head h of n has the slope 2^(-bias_max * numerator / denominator).
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};

Fraction fraction(std::int64_t h, std::int64_t n) noexcept {
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  if (h < below) return {.numerator = h + 1, .denominator = below};
  return {.numerator = 2 * (h - below) + 1, .denominator = 2 * below};
}

double slope(const Alibi& alibi, std::int64_t head) noexcept {
  const std::int64_t n = alibi.model_heads.value_or(alibi.heads);
  const std::int64_t h = alibi.first_head + head;
  const Fraction of = fraction(h, n);
  return std::exp2(-alibi.bias_max * static_cast<double>(of.numerator) /
                   static_cast<double>(of.denominator));
}

std::vector<double> slopes_of(const Alibi& alibi) {
  if (!alibi.slopes.empty()) return alibi.slopes;
  std::vector<double> slopes;
  slopes.reserve(to_size(alibi.heads));
  for (std::int64_t head = 0; head < alibi.heads; ++head) slopes.push_back(slope(alibi, head));
  return slopes;
}

Status check_learned(const Alibi& alibi) {
  if (alibi.slopes.size() != to_size(alibi.heads)) {
    return invalid_argument("slopes must be one for each of ", alibi.heads, " heads, got ",
                            alibi.slopes.size());
  }
  for (const double each : alibi.slopes) {
    if (!(std::abs(each) <= largest_parameter))
      return invalid_argument("slopes must be from -2^256 to 2^256, got ", each);
  }
  return {};
}

Status check_bias_max(const Alibi& alibi) {
  if (!(alibi.bias_max > 0 && alibi.bias_max <= 64))
    return invalid_argument("bias_max must be > 0 and <= 64, got ", alibi.bias_max);
  return {};
}

}  // namespace

Status check(const Alibi& bias) {
  if (bias.form != AlibiForm::causal && bias.form != AlibiForm::symmetric &&
      bias.form != AlibiForm::key_position) {
    return invalid_argument("form must be causal, symmetric or key_position, got value ",
                            static_cast<std::int32_t>(bias.form));
  }
  constexpr std::int64_t most_heads = std::int64_t{1} << 20;
  const std::int64_t all = bias.model_heads.value_or(bias.heads);
  if (all < 1 || all > most_heads)
    return invalid_argument("heads of the model must be from 1 to 2^20, got ", all);
  if (bias.heads < 1 || bias.heads > all || bias.first_head < 0 ||
      bias.first_head > all - bias.heads) {
    return invalid_argument("heads must be >= 1 and, from first_head >= 0 on, among the ", all,
                            " of the model; got heads ", bias.heads, ", first_head ",
                            bias.first_head);
  }
  return bias.slopes.empty() ? check_bias_max(bias) : check_learned(bias);
}

double alibi_slope(const Alibi& alibi, std::int64_t head) noexcept {
  return alibi.slopes.empty() ? slope(alibi, head) : alibi.slopes[to_size(head)];
}

AlibiEvaluator::AlibiEvaluator(const Alibi& bias) : form_(bias.form), slopes_(slopes_of(bias)) {}

double AlibiEvaluator::shared_term(const PairOfPositions& pair) const noexcept {
  switch (form_) {
    case AlibiForm::causal:
      return static_cast<double>(pair.relative());
    case AlibiForm::symmetric:
      return -pair.distance();
    case AlibiForm::key_position:
      return static_cast<double>(pair.key);
  }
  return 0;
}

double AlibiEvaluator::value(std::int64_t head, double term) const noexcept {
  return slopes_[to_size(head)] * term;
}

void AlibiEvaluator::add_gradient(std::span<double> sums, const Upstream& upstream) noexcept {
  sums[to_size(upstream.head)] += upstream.gradient * upstream.term;
}

}  // namespace relative

Result<std::vector<double>> alibi_slopes(const Alibi& alibi) noexcept {
  return guarded([&]() -> Result<std::vector<double>> {
    if (auto status = relative::check(alibi); !status) return status.error();
    return relative::slopes_of(alibi);
  });
}

Status alibi_key_positions(std::span<std::int64_t> positions,
                           std::span<const std::uint8_t> mask) noexcept {
  return guarded([&]() -> Status {
    if (positions.size() != mask.size()) {
      return invalid_argument("positions must be one for each of ", mask.size(),
                              " elements of the mask, got ", positions.size());
    }
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 0) ++seen;
      positions[i] = mask[i] != 0 ? seen - 1 : 0;
    }
    return {};
  });
}

}  // namespace rotary
