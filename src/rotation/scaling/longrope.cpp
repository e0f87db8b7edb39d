// SPDX-License-Identifier: Apache-2.0
// LongRoPE. Ding et al. 2024, arXiv 2402.13753: a factor for each pair, found by search, in one
// list for contexts up to the original one and another for longer ones. The attention factor is
// that of Transformers' _compute_longrope_parameters.
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

Status require_list(std::string_view field, const std::vector<double>& list,
                    const UnscaledRotary& rotary) {
  const std::int64_t pairs = rotary.rotary_dim / 2;
  if (static_cast<std::int64_t>(list.size()) != pairs) {
    return invalid_argument(field, " must have one entry for each pair, ", pairs, "; got ",
                            list.size());
  }
  for (std::size_t pair = 0; pair < list.size(); ++pair) {
    if (std::isfinite(list[pair]) && list[pair] > 0) continue;
    return invalid_argument(field, " must be finite and > 0, got ", list[pair], " for pair ", pair);
  }
  return {};
}

// The range of A in every rule.
Status require_on_rows(std::string_view field, const std::optional<double>& value) {
  if (!value || (*value >= 0x1p-20 && *value <= 0x1p20)) return {};
  return invalid_argument(field, " must be in [2^-20, 2^20], got ", *value);
}

Status require_context_or_switch(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  switch (rule.lists) {
    case LongRopeSwitch::by_context:
      return require_context("longrope", rotary);
    case LongRopeSwitch::always_short:
    case LongRopeSwitch::always_long:
      return {};
  }
  return invalid_argument("lists must be by_context, always_short or always_long, got value ",
                          static_cast<std::int32_t>(rule.lists));
}

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

Status validate(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  if (auto status = require_list("short_factor", rule.short_factor, rotary); !status) return status;
  if (auto status = require_list("long_factor", rule.long_factor, rotary); !status) return status;
  if (rule.original_context_tokens <= 1) {
    return invalid_argument("original_max_position_embeddings must be > 1, got ",
                            rule.original_context_tokens);
  }
  if (auto status = require_positive("factor", rule.factor); !status) return status;
  if (auto status = require_on_rows("attention_factor", rule.attention_factor); !status)
    return status;
  if (auto status = require_on_rows("short_mscale", rule.short_mscale); !status) return status;
  if (auto status = require_on_rows("long_mscale", rule.long_mscale); !status) return status;
  return require_context_or_switch(rule, rotary);
}

ScaledFrequencies scale(const LongRopeScaling& rule, const UnscaledRotary& rotary) {
  const bool beyond = is_long(rule, rotary);
  const auto& list = beyond ? rule.long_factor : rule.short_factor;
  auto inv_freq = unscaled_inv_freq(rotary);
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) inv_freq[pair] /= list[pair];
  return {
      .inv_freq = std::move(inv_freq),
      .attention_factor = attention_factor_of(rule, beyond ? rule.long_mscale : rule.short_mscale),
      .contexts = contexts_of(rule, rotary)};
}

}  // namespace rotary
