// SPDX-License-Identifier: Apache-2.0
// YaRN: Peng et al. 2023, arXiv 2309.00071 §3; Transformers' _compute_yarn_parameters, whose ramp
// is linear in the pair's index.
#include <cmath>
#include <numbers>

#include "base/message.hpp"
#include "base/yarn_growth.hpp"
#include "rotation/scaling/rules.hpp"
#include "rotation/scaling/turn_ramp.hpp"

namespace rotary {
namespace {

std::vector<double> ramp_over_pairs(const YarnScaling& rule, const UnscaledRotary& rotary) {
  const TurnRamp ramp = turn_ramp(rule, rotary);
  std::vector<double> stretched(static_cast<std::size_t>(rotary.rotary_dim / 2));
  for (std::size_t pair = 0; pair < stretched.size(); ++pair) stretched[pair] = ramp.at(pair);
  return stretched;
}

// 1 - γ(r) of the paper, where r is the pair's turns within the original context.
double stretched_by_turns(const YarnScaling& rule, double inv_freq) {
  const double turns =
      static_cast<double>(rule.original_context_tokens) * inv_freq / (2 * std::numbers::pi);
  if (turns >= rule.beta_fast) return 0;
  if (turns <= rule.beta_slow) return 1;
  return (rule.beta_fast - turns) / (rule.beta_fast - rule.beta_slow);
}

std::vector<double> ramp_over_turns(const YarnScaling& rule, std::vector<double> inv_freq) {
  for (double& each : inv_freq) each = stretched_by_turns(rule, each);
  return inv_freq;
}

double attention_factor_of(const YarnScaling& rule) {
  if (rule.attention_factor) return *rule.attention_factor;
  const double mscale = rule.mscale.value_or(0);
  const double mscale_all_dim = rule.mscale_all_dim.value_or(0);
  if (mscale != 0 && mscale_all_dim != 0) {
    return yarn_growth(rule.factor, mscale) / yarn_growth(rule.factor, mscale_all_dim);
  }
  return yarn_growth(rule.factor);
}

}  // namespace

TurnRamp turn_ramp(const YarnScaling& rule, const UnscaledRotary& rotary) {
  const TurnRange turns{.fast = rule.beta_fast,
                        .slow = rule.beta_slow,
                        .original_context_tokens = rule.original_context_tokens};
  const bool is_whole = rule.ramp == YarnRamp::whole_pairs;
  return turn_ramp(turns, rotary, is_whole ? RampEnds::whole_pairs : RampEnds::fractional);
}

Status validate(const YarnScaling& rule, const UnscaledRotary&) {
  if (rule.beta_fast < rule.beta_slow) {
    return invalid_argument("beta_fast must be >= beta_slow, got ", rule.beta_fast, " and ",
                            rule.beta_slow);
  }
  const double attention_factor = attention_factor_of(rule);
  if (std::isfinite(attention_factor) && attention_factor > 0) return {};
  return invalid_argument("attention_factor must be finite and > 0, got ", attention_factor);
}

ScaledFrequencies scale(const YarnScaling& rule, const UnscaledRotary& rotary) {
  auto inv_freq = unscaled_inv_freq(rotary);
  const auto stretched = rule.ramp == YarnRamp::turns ? ramp_over_turns(rule, inv_freq)
                                                      : ramp_over_pairs(rule, rotary);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    inv_freq[pair] =
        inv_freq[pair] / rule.factor * stretched[pair] + inv_freq[pair] * (1 - stretched[pair]);
  }
  return {.inv_freq = std::move(inv_freq), .attention_factor = attention_factor_of(rule)};
}

}  // namespace rotary
