// SPDX-License-Identifier: Apache-2.0
// Frequencies given one by one. make_frequencies() checks their range, as for every rule.
#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

Status validate(const ExplicitScaling& rule, const UnscaledRotary& rotary) {
  const std::int64_t pairs = rotary.rotary_dim / 2;
  if (static_cast<std::int64_t>(rule.inv_freq.size()) == pairs) return {};
  return invalid_argument("inv_freq must have one entry for each pair, ", pairs, "; got ",
                          rule.inv_freq.size());
}

ScaledFrequencies scale(const ExplicitScaling& rule, const UnscaledRotary&) {
  return {.inv_freq = rule.inv_freq, .attention_factor = rule.attention_factor};
}

}  // namespace rotary
