// SPDX-License-Identifier: Apache-2.0
// RetNet's exponents: Sun et al. 2023, arXiv 2307.08621; torchscale's retnet.py at 4d1e0e82.
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

Status validate(const RetNetScaling&, const UnscaledRotary& rotary) {
  if (rotary.rotary_dim >= 4) return {};
  return invalid_argument(
      "rope_type retnet needs rotary_dim >= 4, because its exponents are i/(d/2 - 1); got ",
      rotary.rotary_dim);
}

ScaledFrequencies scale(const RetNetScaling&, const UnscaledRotary& rotary) {
  std::vector<double> inv_freq(static_cast<std::size_t>(rotary.rotary_dim / 2));
  const auto last = static_cast<double>(inv_freq.size() - 1);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    inv_freq[pair] = std::pow(rotary.base, -static_cast<double>(pair) / last);
  }
  return {.inv_freq = std::move(inv_freq)};
}

}  // namespace rotary
