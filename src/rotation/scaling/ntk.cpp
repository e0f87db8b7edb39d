// SPDX-License-Identifier: Apache-2.0
// NTK-aware scaling with a fixed alpha: a larger base, base' = base * alpha^(d/(d-2)), chosen so
// that the slowest pair turns exactly alpha times slower and the fastest does not change. bloc97
// 2023; the formula of the yarn repository's LlamaNTKScaledRotaryEmbedding.
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

UnscaledRotary with_larger_base(const NtkScaling& rule, const UnscaledRotary& rotary) {
  const auto d = static_cast<double>(rotary.rotary_dim);
  return {.base = rotary.base * std::pow(rule.alpha, d / (d - 2)), .rotary_dim = rotary.rotary_dim};
}

}  // namespace

Status validate(const NtkScaling& rule, const UnscaledRotary& rotary) {
  if (auto status = require_positive("alpha", rule.alpha); !status) return status;
  if (rotary.rotary_dim < 4) {
    return invalid_argument(
        "NTK scaling needs rotary_dim >= 4, because its exponent is d/(d-2); got ",
        rotary.rotary_dim);
  }
  const double base = with_larger_base(rule, rotary).base;
  if (!std::isfinite(base) || base <= 1) {
    return invalid_argument("alpha must leave base * alpha^(d/(d-2)) finite and > 1, got alpha ",
                            rule.alpha, " with base ", rotary.base);
  }
  return {};
}

ScaledFrequencies scale(const NtkScaling& rule, const UnscaledRotary& rotary) {
  return {.inv_freq = unscaled_inv_freq(with_larger_base(rule, rotary))};
}

}  // namespace rotary
