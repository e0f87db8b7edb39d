// SPDX-License-Identifier: Apache-2.0
// What Numerics other than exact ask of, and make of, frequencies and rotations: the recipes of
// Transformers and ggml (docs/theory/numerics.md).
#pragma once

#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

// cos and sin are rounded to the tensors' dtype.
[[nodiscard]] inline bool rounds_table(Numerics numerics, Rounding rounding) noexcept {
  return numerics == Numerics::transformers && rounding != Rounding::result;
}

// Products of 16-bit tensors are rounded to their dtype before they are added.
[[nodiscard]] inline bool rounds_products(Numerics numerics, Rounding rounding) noexcept {
  return rounds_table(numerics, rounding) && rounding != Rounding::table;
}

// Both are enumerators.
[[nodiscard]] Status validate(Numerics numerics, Rounding rounding);

// These rotations can be made by the frequencies' numerics, at these positions. Requires valid
// frequencies and positions.
[[nodiscard]] Status check_recipe(const Frequencies& frequencies, const Positions& positions,
                                  const Rotations& rotations);

// inv_freq of the rule, each rounded to a float32: the one that Transformers computes with, up to
// the last bits of its pow and of the rule's own operations.
void round_like_transformers(const Scaling& scaling, const UnscaledRotary& rotary,
                             std::vector<double>& inv_freq);

// What ggml's operation is called with where its model has this rule. scaled is what the rule
// gives; for YaRN its inv_freq become those of ggml's ramp. Error: invalid_argument for what the
// operation cannot express. Requires a valid rule.
[[nodiscard]] Result<GgmlAngles> ggml_angles(const Scaling& scaling, const UnscaledRotary& rotary,
                                             ScaledFrequencies& scaled);

}  // namespace rotary
