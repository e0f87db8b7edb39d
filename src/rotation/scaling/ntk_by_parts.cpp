// SPDX-License-Identifier: Apache-2.0
// NTK-by-parts: bloc97 2023; the formula and its constants are those of
// scaled_rope/LlamaPartNTKScaledRotaryEmbedding.py in jquesnelle/yarn at 995db5b5.
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"
#include "rotation/scaling/turn_ramp.hpp"

namespace rotary {
namespace {

double blend(double slow, double fast, double weight_of_fast) {
  return slow * (1 - weight_of_fast) + fast * weight_of_fast;
}

}  // namespace

Status validate(const NtkByPartsScaling& rule, const UnscaledRotary& rotary) {
  if (auto status = require_ntk_dimension(rotary); !status) return status;
  const double base = with_ntk_base(rotary, rule.factor).base;
  if (std::isfinite(base) && base > 1) return {};
  return invalid_argument("factor must leave base * factor^(d/(d-2)) finite and > 1, got ",
                          rule.factor, " with base ", rotary.base);
}

ScaledFrequencies scale(const NtkByPartsScaling& rule, const UnscaledRotary& rotary) {
  const std::int64_t original = rule.original_context_tokens;
  const TurnRamp from_ntk_to_linear =
      turn_ramp({.fast = 1.25, .slow = 0.75, .original_context_tokens = original}, rotary,
                RampEnds::whole_pairs);
  const TurnRamp from_kept = turn_ramp({.fast = 16, .slow = 2, .original_context_tokens = original},
                                       rotary, RampEnds::whole_pairs);
  const auto ntk = unscaled_inv_freq(with_ntk_base(rotary, rule.factor));
  auto inv_freq = unscaled_inv_freq(rotary);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    const double stretched = blend(inv_freq[pair] / rule.factor, ntk[pair],
                                   (1 - from_ntk_to_linear.at(pair)) * rule.ntk_factor);
    inv_freq[pair] =
        blend(stretched, inv_freq[pair], (1 - from_kept.at(pair)) * rule.extrapolation_factor);
  }
  return {.inv_freq = std::move(inv_freq)};
}

}  // namespace rotary
