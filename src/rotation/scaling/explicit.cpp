// SPDX-License-Identifier: Apache-2.0
#include "rotation/scaling/rules.hpp"

namespace rotary {

ScaledFrequencies scale(const ExplicitScaling& rule, const UnscaledRotary&) {
  return {.inv_freq = rule.inv_freq, .attention_factor = rule.attention_factor};
}

}  // namespace rotary
