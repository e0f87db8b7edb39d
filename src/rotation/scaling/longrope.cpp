// SPDX-License-Identifier: Apache-2.0
// LongRoPE: Ding et al. 2024, arXiv 2402.13753; the attention factor of Transformers'
// _compute_longrope_parameters.
#include <cmath>

#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

bool is_long(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  if (rule.lists != LongRopeSwitch::by_context) return rule.lists == LongRopeSwitch::always_long;
  return *rotary.context_tokens > rule.original_context_tokens;
}

ContextRange contexts_of(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  if (rule.lists != LongRopeSwitch::by_context) return {};
  if (is_long(rule, rotary)) return {.first = rule.original_context_tokens + 1};
  return {.last = rule.original_context_tokens};
}

double attention_factor_of(const LongRopeScaling& rule, const std::optional<double>& mscale) {
  if (mscale) return *mscale;
  if (rule.attention_factor) return *rule.attention_factor;
  if (rule.factor <= 1) return 1;
  const auto original = static_cast<double>(rule.original_context_tokens);
  return std::sqrt(1 + std::log(rule.factor) / std::log(original));
}

}  // namespace

const std::vector<double>& factors_of(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  return is_long(rule, rotary) ? rule.long_factor : rule.short_factor;
}

Status validate(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  if (rule.lists != LongRopeSwitch::by_context) return {};
  return require_context("longrope", rotary);
}

ScaledFrequencies scale(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  const bool beyond = is_long(rule, rotary);
  const auto& list = factors_of(rule, rotary);
  auto inv_freq = unscaled_inv_freq(rotary);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) inv_freq[pair] /= list[pair];
  return {
      .inv_freq = std::move(inv_freq),
      .attention_factor = attention_factor_of(rule, beyond ? rule.long_mscale : rule.short_mscale),
      .contexts = contexts_of(rule, rotary)};
}

}  // namespace rotary
