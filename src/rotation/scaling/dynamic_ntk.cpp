// SPDX-License-Identifier: Apache-2.0
// Dynamic NTK: bloc97 and emozilla 2023; the formula of Transformers'
// _compute_dynamic_ntk_parameters.
#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

// factor L / original - (factor - 1), rewritten to avoid cancellation; 1 if L <= original.
double growth_of(const DynamicNtkScaling& rule, const UnscaledRotary& rotary) {
  const std::int64_t original = rule.original_context_tokens;
  const std::int64_t beyond = std::max(*rotary.context_tokens - original, std::int64_t{0});
  return 1 + rule.factor * static_cast<double>(beyond) / static_cast<double>(original);
}

}  // namespace

Status validate(const DynamicNtkScaling& rule, const UnscaledRotary& rotary) {
  if (auto status = require_ntk_dimension(rotary); !status) return status;
  if (auto status = require_context("dynamic", rotary); !status) return status;
  if (!std::isfinite(with_ntk_base(rotary, growth_of(rule, rotary)).base)) {
    return invalid_argument(
        "factor and context_tokens must leave the base finite, which grows with them; got ",
        rule.factor, " and ", *rotary.context_tokens, " with base ", rotary.base);
  }
  return {};
}

ScaledFrequencies scale(const DynamicNtkScaling& rule, const UnscaledRotary& rotary) {
  const std::int64_t length = *rotary.context_tokens;
  const bool is_scaled = length > rule.original_context_tokens;
  return {.inv_freq = unscaled_inv_freq(with_ntk_base(rotary, growth_of(rule, rotary))),
          .contexts = is_scaled ? ContextRange{.first = length, .last = length}
                                : ContextRange{.first = 1, .last = rule.original_context_tokens}};
}

}  // namespace rotary
