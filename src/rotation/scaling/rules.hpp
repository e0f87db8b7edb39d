// SPDX-License-Identifier: Apache-2.0
// The scaling rules. A rule's file has its scale(), and its validate() if bounds of single
// parameters do not suffice.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/result.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// The input of every scaling rule.
struct UnscaledRotary {
  double base = 0;                                  // finite, > 1
  std::int64_t rotary_dim = 0;                      // even, >= 2
  std::optional<std::int64_t> context_tokens = {};  // >= 1; see require_context
};

struct ScaledFrequencies {
  std::vector<double> inv_freq;  // [rotary_dim / 2], radians per position
  double attention_factor = 1;
  ContextRange contexts = {};  // all contexts with these frequencies
};

// ω_i = base^(-2i/rotary_dim) for i < rotary_dim/2 (RoFormer §3.2.2).
[[nodiscard]] std::vector<double> unscaled_inv_freq(const UnscaledRotary& rotary);

// Replaces base by base * growth^(d/(d-2)), "NTK-aware" (bloc97 2023): the slowest pair rotates
// `growth` times slower, the fastest as before.
[[nodiscard]] UnscaledRotary with_ntk_base(const UnscaledRotary& rotary, double growth);

// Checks the rule's parameters against one another, base, rotary_dim and context.
// rotary::validate(scaling) checks each parameter alone.
template <class Rule>
[[nodiscard]] Status validate(const Rule& /*rule*/, const UnscaledRotary& /*rotary*/) {
  return {};
}
[[nodiscard]] Status validate(const NtkScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const YarnScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const Llama3Scaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const DynamicNtkScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const LongRopeScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const MixedNtkScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const NtkByPartsScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const ClippedScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const RetNetScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] Status validate(const DoublingNtkScaling& rule, const UnscaledRotary& rotary);

// Checks each parameter and the lengths of lists, then calls the rule's validate() above.
[[nodiscard]] Status validate(const Scaling& scaling, const UnscaledRotary& rotary);

// The scaled frequencies. Requires a rule that validate() accepts.
[[nodiscard]] ScaledFrequencies scale(const NoScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const LinearScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const NtkScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const YarnScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const Llama3Scaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const DynamicNtkScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const LongRopeScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const ProportionalScaling& rule,
                                      const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const MixedNtkScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const NtkByPartsScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const ClippedScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const RetNetScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const ExplicitScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const PixelScaling& rule, const UnscaledRotary& rotary);
[[nodiscard]] ScaledFrequencies scale(const DoublingNtkScaling& rule, const UnscaledRotary& rotary);

// The alpha of NtkScaling in this context.
[[nodiscard]] double ntk_alpha(const DoublingNtkScaling& rule, const UnscaledRotary& rotary);

// The factors that LongRoPE uses in this context: [rotary_dim / 2].
[[nodiscard]] const std::vector<double>& factors_of(const LongRopeScaling& rule,
                                                    const UnscaledRotary& rotary);

// Checks rotary_dim for rules that use with_ntk_base().
[[nodiscard]] Status require_ntk_dimension(const UnscaledRotary& rotary);

// Checks that a context is given, for rules that depend on its length.
[[nodiscard]] Status require_context(std::string_view rope_type, const UnscaledRotary& rotary);

}  // namespace rotary
