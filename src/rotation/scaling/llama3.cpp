// SPDX-License-Identifier: Apache-2.0
// Llama 3.1: Transformers' _compute_llama3_parameters. Wavelengths from longest_kept to
// shortest_stretched are blended. If both are equal, a pair of this wavelength keeps its frequency.
#include <numbers>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

Status validate(const Llama3Scaling& rule, const UnscaledRotary&) {
  if (rule.high_freq_factor < rule.low_freq_factor) {
    return invalid_argument("high_freq_factor must be >= low_freq_factor, got ",
                            rule.high_freq_factor, " and ", rule.low_freq_factor);
  }
  return {};
}

ScaledFrequencies scale(const Llama3Scaling& rule, const UnscaledRotary& rotary) {
  const auto original = static_cast<double>(rule.original_context_tokens);
  const double longest_kept = original / rule.high_freq_factor;       // wavelength in tokens
  const double shortest_stretched = original / rule.low_freq_factor;  // wavelength in tokens
  auto inv_freq = unscaled_inv_freq(rotary);
  for (double& frequency : inv_freq) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength > shortest_stretched) {
      frequency /= rule.factor;
    } else if (wavelength >= longest_kept && rule.high_freq_factor > rule.low_freq_factor) {
      const double kept = (original / wavelength - rule.low_freq_factor) /
                          (rule.high_freq_factor - rule.low_freq_factor);  // 0: stretched, 1: kept
      frequency = (1 - kept) * frequency / rule.factor + kept * frequency;
    }
  }
  return {.inv_freq = std::move(inv_freq)};
}

}  // namespace rotary
