// SPDX-License-Identifier: Apache-2.0
// Numerics: the arithmetic that cos, sin and products follow. exact is the contract of this
// library; the others reproduce, up to the last bits of pow and cos, the arithmetic that a model
// was trained or is served with: docs/theory/numerics.md.
//
//   spec.numerics = Numerics::transformers;
//   spec.rounding = Rounding::every_step;  // of this model's class
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "rotary/export.h"

namespace rotary {

enum class Numerics : std::int32_t {
  exact = 1,         // exact angle, cos and sin rounded once: docs/numeric-contract.md
  transformers = 2,  // float32 frequency, position and angle; then as the class rounds (Rounding)
  ggml = 3,          // llama.cpp: float32 angles, each base^(-2/d) times the one before
};

// Every enumerator, in order.
inline constexpr std::array all_numerics = {Numerics::exact, Numerics::transformers,
                                            Numerics::ggml};

// The steps after the float32 angle at which a class of Hugging Face Transformers rounds to the
// dtype of q and k.
enum class Rounding : std::int32_t {
  every_step = 1,    // cos and sin, both products and their sum: Llama and most others
  table = 2,         // cos and sin; products and sum in float32, rounded once: Cohere
  result = 3,        // only the float32 result: OLMo 2, Ernie 4.5, DeepSeek-V2, Llama 4
  double_angle = 4,  // as every_step, with angle, cos and sin in double: RoFormer
};

// Every enumerator, in order.
inline constexpr std::array all_roundings = {Rounding::every_step, Rounding::table,
                                             Rounding::result, Rounding::double_angle};

// "exact", "transformers", "ggml".
[[nodiscard]] ROTARY_API std::string_view to_string(Numerics numerics) noexcept;

// "every_step", "table", "result", "double_angle".
[[nodiscard]] ROTARY_API std::string_view to_string(Rounding rounding) noexcept;

}  // namespace rotary
