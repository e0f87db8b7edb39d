// SPDX-License-Identifier: Apache-2.0
// The relative difference that two correct computations of inv_freq in double may have. A pow
// inherits its exponent's rounding times ln(base). Blending theta with theta / factor magnifies the
// weight's rounding by factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <variant>

#include "rotary/rotary_spec.hpp"

namespace rotary::test {

// The rounding that a rule adds to base^(-2i/d), in units of 2^-52.
struct RuleRounding {
  const RotarySpec& spec;
  std::optional<std::int64_t> context_tokens;

  // In a ramp over turns, the weight inherits the frequency's rounding, times beta_fast over the
  // ramp's width.
  double operator()(const YarnScaling& rule) const {
    const double magnified = std::max(1.0, rule.factor);
    if (rule.ramp != YarnRamp::turns) return 4 * magnified;
    const double of_frequency = 4 + std::log(spec.base.get());
    return magnified * (4 + of_frequency * rule.beta_fast / (rule.beta_fast - rule.beta_slow));
  }
  double operator()(const Llama3Scaling& rule) const { return 4 * std::max(1.0, rule.factor); }
  // The growth g = factor L / original - (factor - 1) is rounded three times. A pow raises it to
  // d/(d-2) <= 2 and adds (2 ln g + 2) / 2. The last pow's ln(base) is then larger by ln g.
  double operator()(const DynamicNtkScaling& rule) const {
    const auto original = static_cast<double>(rule.original_context_tokens);
    const double length = std::max(static_cast<double>(context_tokens.value_or(1)), original);
    return 2 + 2 * std::log(1 + rule.factor * (length - original) / original);
  }
  // The last pow's ln(base) is larger by ln alpha, and alpha < 4 L / original.
  double operator()(const DoublingNtkScaling& rule) const {
    const auto original = static_cast<double>(rule.original_context_tokens);
    const double length = std::max(static_cast<double>(context_tokens.value_or(1)), original);
    return 2 + 2 * std::log(4 * length / original);
  }
  // The divisor of theta is itself a pow: factor to a power of at most 1.
  double operator()(const MixedNtkScaling& rule) const {
    return 2 + (2 + rule.mixed_b.value_or(0)) * std::abs(std::log(rule.factor));
  }
  // The rule blends twice, between frequencies that differ by factor. NTK-aware scaling also
  // changes the base.
  double operator()(const NtkByPartsScaling& rule) const {
    return 8 * std::max(1.0, rule.factor) + 2 + 2 * std::abs(std::log(rule.factor));
  }
  // The reference's (1 + cos t) / 2 cancels in long double: at the last pair but one it is about
  // (π/(n - 1))² / 4. The library squares a sine that is rounded three times.
  double operator()(const ClippedScaling& rule) const {
    const auto steps = static_cast<double>(rule.clipped_pairs);
    return 6 + steps * steps * 0x1p-12;
  }
  template <class Rule>
  double operator()(const Rule& /*unblended*/) const {
    return 0;
  }
};

// context_tokens: as passed to make_frequencies.
[[nodiscard]] inline double frequency_tolerance(const RotarySpec& spec,
                                                std::optional<std::int64_t> context_tokens = {}) {
  const double rule = std::visit(RuleRounding{spec, context_tokens}, spec.scaling);
  return (4 + std::log(spec.base.get()) + rule) * 0x1p-52;
}

}  // namespace rotary::test
