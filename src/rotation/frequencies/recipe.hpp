// SPDX-License-Identifier: Apache-2.0
// Numerics that round as Transformers or ggml does (docs/theory/numerics.md).
#pragma once

#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

// True if cos and sin are rounded to the tensors' dtype.
[[nodiscard]] inline bool rounds_table(Numerics numerics, Rounding rounding) noexcept {
  return numerics == Numerics::transformers && rounding != Rounding::result;
}

// True if products of 16-bit tensors are rounded to their dtype before they are added.
[[nodiscard]] inline bool rounds_products(Numerics numerics, Rounding rounding) noexcept {
  return rounds_table(numerics, rounding) && rounding != Rounding::table;
}

// Checks that numerics and rounding are known enumerators.
[[nodiscard]] Status validate(Numerics numerics, Rounding rounding);

// Checks that the numerics of the frequencies allow these positions and rotations. Requires valid
// frequencies and positions.
[[nodiscard]] Status check_recipe(const Frequencies& frequencies, const Positions& positions,
                                  const Rotations& rotations);

// Replaces inv_freq by the float32 numbers of Transformers, up to the last bits of pow.
void round_like_transformers(const Scaling& scaling, const UnscaledRotary& rotary,
                             std::vector<double>& inv_freq);

// The arguments of ggml's operation for a valid rule. scaled: the rule's result, in which ggml's
// ramp replaces YaRN's inv_freq. Error: invalid_argument if the operation cannot express the rule.
[[nodiscard]] Result<GgmlAngles> ggml_angles(const Scaling& scaling, const UnscaledRotary& rotary,
                                             ScaledFrequencies& scaled);

}  // namespace rotary
