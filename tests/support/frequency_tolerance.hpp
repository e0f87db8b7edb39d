// SPDX-License-Identifier: Apache-2.0
// How far two right computations of inv_freq in double may be apart, relative. It is the
// conditioning of the formulas: a pow inherits the rounding of its exponent times ln(base), and a
// blend of theta and theta / factor magnifies what rounding does to its weight by factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <variant>

#include "rotary/rotary_spec.hpp"

namespace rotary::test {

// The rounding that a rule adds to that of base^(-2i/d), in units of 2^-52.
struct RuleRounding {
  const RotarySpec& spec;
  std::optional<std::int64_t> context_tokens;

  // With a ramp over turns the weight inherits what rounding does to the frequency, times the turns
  // per width of the ramp.
  double operator()(const YarnScaling& rule) const {
    const double magnified = std::max(1.0, rule.factor);
    if (rule.ramp != YarnRamp::turns) return 4 * magnified;
    const double of_frequency = 4 + std::log(spec.base.get());
    return magnified * (4 + of_frequency * rule.beta_fast / (rule.beta_fast - rule.beta_slow));
  }
  double operator()(const Llama3Scaling& rule) const { return 4 * std::max(1.0, rule.factor); }
  // The growth g = factor L / original - (factor - 1) is rounded thrice, and raised to d/(d-2) <= 2
  // by a pow that adds (2 ln g + 2) / 2; base' is then ln g larger in the last pow.
  double operator()(const DynamicNtkScaling& rule) const {
    const auto original = static_cast<double>(rule.original_context_tokens);
    const double length = std::max(static_cast<double>(context_tokens.value_or(1)), original);
    return 2 + 2 * std::log(1 + rule.factor * (length - original) / original);
  }
  // base' is ln alpha larger in the last pow, alpha < 4 L / original.
  double operator()(const DoublingNtkScaling& rule) const {
    const auto original = static_cast<double>(rule.original_context_tokens);
    const double length = std::max(static_cast<double>(context_tokens.value_or(1)), original);
    return 2 + 2 * std::log(4 * length / original);
  }
  // The stretch is a power of factor, whose exponent (at most 1) is a pow itself.
  double operator()(const MixedNtkScaling& rule) const {
    return 2 + (2 + rule.mixed_b.value_or(0)) * std::abs(std::log(rule.factor));
  }
  // Two blends of frequencies that are factor apart, and the base of NTK-aware scaling.
  double operator()(const NtkByPartsScaling& rule) const {
    return 8 * std::max(1.0, rule.factor) + 2 + 2 * std::abs(std::log(rule.factor));
  }
  // The reference's 1 + cos t, in long double, cancels to (π/(n - 1))² / 4 at the last pair but
  // one; the sine is rounded thrice and squared.
  double operator()(const ClippedScaling& rule) const {
    const auto steps = static_cast<double>(rule.clipped_pairs);
    return 6 + steps * steps * 0x1p-12;
  }
  template <class Rule>
  double operator()(const Rule& /*unblended*/) const {
    return 0;
  }
};

// context_tokens: as given to make_frequencies.
[[nodiscard]] inline double frequency_tolerance(const RotarySpec& spec,
                                                std::optional<std::int64_t> context_tokens = {}) {
  const double rule = std::visit(RuleRounding{spec, context_tokens}, spec.scaling);
  return (4 + std::log(spec.base.get()) + rule) * 0x1p-52;
}

}  // namespace rotary::test
