// SPDX-License-Identifier: Apache-2.0
// Position interpolation: a context `factor` times longer stays within the trained angles. Chen et
// al. 2023, arXiv 2306.15595.
#include "rotation/scaling/rules.hpp"

namespace rotary {

ScaledFrequencies scale(const LinearScaling& rule, const UnscaledRotary& rotary) {
  auto inv_freq = unscaled_inv_freq(rotary);
  for (double& frequency : inv_freq) frequency /= rule.factor;
  return {.inv_freq = std::move(inv_freq)};
}

}  // namespace rotary
