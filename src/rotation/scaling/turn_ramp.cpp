// SPDX-License-Identifier: Apache-2.0
// find_correction_range and linear_ramp_mask of the YaRN authors' code, as in Transformers.
#include "rotation/scaling/turn_ramp.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rotary {
namespace {

// The fractional index i of the pair with this number of turns within the original context:
// base^(-2i/d) * original / 2π = turns.
double pair_that_turns(double turns, std::int64_t original_context_tokens,
                       const UnscaledRotary& rotary) {
  const auto original = static_cast<double>(original_context_tokens);
  return static_cast<double>(rotary.rotary_dim) *
         std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(rotary.base));
}

}  // namespace

double TurnRamp::at(std::size_t pair) const {
  return std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
}

TurnRamp turn_ramp(const TurnRange& turns, const UnscaledRotary& rotary, RampEnds ends) {
  double low = pair_that_turns(turns.fast, turns.original_context_tokens, rotary);
  double high = pair_that_turns(turns.slow, turns.original_context_tokens, rotary);
  if (ends == RampEnds::whole_pairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotary.rotary_dim - 1));
  if (low == high) high += 0.001;  // a step instead of 0 / 0, as in Transformers
  return {.low = low, .high = high};
}

}  // namespace rotary
