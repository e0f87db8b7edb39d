// SPDX-License-Identifier: Apache-2.0
#include "rotation/scaling/rules.hpp"

namespace rotary {

ScaledFrequencies scale(const NoScaling&, const UnscaledRotary& rotary) {
  return {.inv_freq = unscaled_inv_freq(rotary)};
}

}  // namespace rotary
