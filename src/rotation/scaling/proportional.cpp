// SPDX-License-Identifier: Apache-2.0
// Proportional (p-RoPE): Barbero et al. 2024, arXiv 2410.06205; Transformers'
// _compute_proportional_rope_parameters.
#include <algorithm>
#include <cmath>

#include "rotation/scaling/rules.hpp"

namespace rotary {

ScaledFrequencies scale(const ProportionalScaling& rule, const UnscaledRotary& rotary) {
  auto inv_freq = unscaled_inv_freq(rotary);
  for (double& frequency : inv_freq) frequency /= rule.factor;
  const auto turning = static_cast<std::ptrdiff_t>(
      std::floor(rule.turning_fraction * static_cast<double>(rotary.rotary_dim) / 2));
  std::fill(inv_freq.begin() + turning, inv_freq.end(), 0.0);
  return {.inv_freq = std::move(inv_freq)};
}

}  // namespace rotary
