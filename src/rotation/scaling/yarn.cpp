// SPDX-License-Identifier: Apache-2.0
// YaRN. Peng et al. 2023, arXiv 2309.00071 §3, in the form that Transformers computes
// (_compute_yarn_parameters): a ramp over the pair index between the pair that turns beta_fast
// times within the original context (kept) and the one that turns beta_slow times (stretched by
// factor).
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"
#include "rotation/scaling/turn_ramp.hpp"

namespace rotary {
namespace {

TurnRamp ramp_of(const YarnScaling& rule, const UnscaledRotary& rotary) {
  const TurnRange turns{.fast = rule.beta_fast,
                        .slow = rule.beta_slow,
                        .original_context_tokens = rule.original_context_tokens};
  const bool is_whole = rule.ramp == YarnRamp::whole_pairs;
  return turn_ramp(turns, rotary, is_whole ? RampEnds::whole_pairs : RampEnds::fractional);
}

// g(m) of the paper's eq. 22, with the multiplier m of DeepSeek's configs.
double attention_growth(double factor, double multiplier) {
  return factor <= 1 ? 1 : 0.1 * multiplier * std::log(factor) + 1;
}

double attention_factor_of(const YarnScaling& rule) {
  if (rule.attention_factor) return *rule.attention_factor;
  const double mscale = rule.mscale.value_or(0);
  const double mscale_all_dim = rule.mscale_all_dim.value_or(0);
  if (mscale != 0 && mscale_all_dim != 0) {
    return attention_growth(rule.factor, mscale) / attention_growth(rule.factor, mscale_all_dim);
  }
  return attention_growth(rule.factor, 1);
}

}  // namespace

Status validate(const YarnScaling& rule, const UnscaledRotary&) {
  if (auto status = require_positive("factor", rule.factor); !status) return status;
  if (auto status = require_positive("beta_fast", rule.beta_fast); !status) return status;
  if (auto status = require_positive("beta_slow", rule.beta_slow); !status) return status;
  if (rule.beta_fast < rule.beta_slow) {
    return invalid_argument("beta_fast must be >= beta_slow, got ", rule.beta_fast, " and ",
                            rule.beta_slow);
  }
  if (rule.ramp != YarnRamp::whole_pairs && rule.ramp != YarnRamp::fractional) {
    return invalid_argument("ramp must be whole_pairs or fractional, got value ",
                            static_cast<std::int32_t>(rule.ramp));
  }
  for (const double mscale : {rule.mscale.value_or(0), rule.mscale_all_dim.value_or(0)}) {
    if (!std::isfinite(mscale)) return invalid_argument("mscale must be finite, got ", mscale);
  }
  if (auto status = require_positive("attention_factor", attention_factor_of(rule)); !status)
    return status;
  return require_positive("original_max_position_embeddings", rule.original_context_tokens);
}

ScaledFrequencies scale(const YarnScaling& rule, const UnscaledRotary& rotary) {
  const TurnRamp ramp = ramp_of(rule, rotary);
  auto inv_freq = unscaled_inv_freq(rotary);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    const double stretched = ramp.at(pair);
    inv_freq[pair] = inv_freq[pair] / rule.factor * stretched + inv_freq[pair] * (1 - stretched);
  }
  return {.inv_freq = std::move(inv_freq), .attention_factor = attention_factor_of(rule)};
}

}  // namespace rotary
