// SPDX-License-Identifier: Apache-2.0
// YaRN. Peng et al. 2023, arXiv 2309.00071 §3, in the form that Transformers computes
// (_compute_yarn_parameters): a ramp over the pair index between the pair that turns beta_fast
// times within the original context (kept) and the one that turns beta_slow times (stretched by
// factor). The upper end is clamped to d - 1 although only d/2 pairs exist: every implementation
// does so.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

// The (fractional) pair that makes this many turns within the original context:
// base^(-2i/d) * original / 2π = turns, solved for i.
double pair_that_turns(double turns, const YarnScaling& rule, const UnscaledRotary& rotary) {
  const auto original = static_cast<double>(rule.original_context_tokens);
  return static_cast<double>(rotary.rotary_dim) *
         std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(rotary.base));
}

struct Ramp {
  double low = 0;   // pairs up to here are kept
  double high = 0;  // pairs from here on are stretched
};

Ramp ramp_of(const YarnScaling& rule, const UnscaledRotary& rotary) {
  double low = pair_that_turns(rule.beta_fast, rule, rotary);
  double high = pair_that_turns(rule.beta_slow, rule, rotary);
  if (rule.ramp == YarnRamp::whole_pairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotary.rotary_dim - 1));
  if (low == high) high += 0.001;  // as Transformers: a step instead of a division by zero
  return {.low = low, .high = high};
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
  const Ramp ramp = ramp_of(rule, rotary);
  auto inv_freq = unscaled_inv_freq(rotary);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    const double stretched =
        std::clamp((static_cast<double>(pair) - ramp.low) / (ramp.high - ramp.low), 0.0, 1.0);
    inv_freq[pair] = inv_freq[pair] / rule.factor * stretched + inv_freq[pair] * (1 - stretched);
  }
  return {.inv_freq = std::move(inv_freq), .attention_factor = attention_factor_of(rule)};
}

}  // namespace rotary
