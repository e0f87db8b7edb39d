// SPDX-License-Identifier: Apache-2.0
// Doubling NTK: get_ntk_alpha of modeling_qwen.py in Qwen/Qwen-7B-Chat.
#include <cmath>

#include "base/message.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {
namespace {

// The smallest original * 2^doublings that is at least as long as a context.
struct DoubledContext {
  int doublings = 0;
  ContextRange contexts = {};  // the contexts with this many doublings
};

DoubledContext doubled_context(const DoublingNtkScaling& rule, std::int64_t context_tokens) {
  DoubledContext result{.contexts = {.last = rule.original_context_tokens}};
  while (result.contexts.last < context_tokens) {
    const std::int64_t last = result.contexts.last;
    const bool fits = last <= ContextRange().last / 2;
    result.contexts = {.first = last + 1, .last = fits ? 2 * last : ContextRange().last};
    ++result.doublings;
  }
  return result;
}

}  // namespace

double ntk_alpha(const DoublingNtkScaling& rule, const UnscaledRotary& rotary) {
  return std::exp2(doubled_context(rule, *rotary.context_tokens).doublings + 1) - 1;
}

Status validate(const DoublingNtkScaling& rule, const UnscaledRotary& rotary) {
  if (auto status = require_ntk_dimension(rotary); !status) return status;
  if (auto status = require_context("doubling_ntk", rotary); !status) return status;
  if (!std::isfinite(with_ntk_base(rotary, ntk_alpha(rule, rotary)).base)) {
    return invalid_argument(
        "context_tokens must leave the base finite, which grows with them; got ",
        *rotary.context_tokens, " with base ", rotary.base);
  }
  return {};
}

ScaledFrequencies scale(const DoublingNtkScaling& rule, const UnscaledRotary& rotary) {
  return {.inv_freq = unscaled_inv_freq(with_ntk_base(rotary, ntk_alpha(rule, rotary))),
          .contexts = doubled_context(rule, *rotary.context_tokens).contexts};
}

}  // namespace rotary
