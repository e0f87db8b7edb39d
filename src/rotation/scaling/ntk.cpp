// SPDX-License-Identifier: Apache-2.0
// NTK-aware scaling: bloc97 2023; LlamaNTKScaledRotaryEmbedding of jquesnelle/yarn.
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

Status validate(const NtkScaling& rule, const UnscaledRotary& rotary) {
  if (auto status = require_ntk_dimension(rotary); !status) return status;
  const double base = with_ntk_base(rotary, rule.alpha).base;
  if (!std::isfinite(base) || base <= 1) {
    return invalid_argument("alpha must leave base * alpha^(d/(d-2)) finite and > 1, got alpha ",
                            rule.alpha, " with base ", rotary.base);
  }
  return {};
}

ScaledFrequencies scale(const NtkScaling& rule, const UnscaledRotary& rotary) {
  return {.inv_freq = unscaled_inv_freq(with_ntk_base(rotary, rule.alpha))};
}

}  // namespace rotary
