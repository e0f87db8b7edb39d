// SPDX-License-Identifier: Apache-2.0
// Equally spaced frequencies for positions from -1 to 1: freqs_for="pixel" of
// rotary_embedding_torch.py in lucidrains/rotary-embedding-torch.
#include <numbers>

#include "rotation/scaling/rules.hpp"

namespace rotary {

ScaledFrequencies scale(const PixelScaling& rule, const UnscaledRotary& rotary) {
  const auto pairs = static_cast<std::size_t>(rotary.rotary_dim / 2);
  const auto steps = static_cast<double>(pairs - 1);
  std::vector<double> inv_freq(pairs, std::numbers::pi);
  for (std::size_t pair = 1; pair < pairs; ++pair) {
    const auto step = static_cast<double>(pair);
    // All terms are positive; 1 + step / steps * (max_freq / 2 - 1) would cancel for max_freq < 2.
    inv_freq[pair] *= ((steps - step) + step * (rule.max_freq / 2)) / steps;
  }
  return {.inv_freq = std::move(inv_freq)};
}

}  // namespace rotary
