// SPDX-License-Identifier: Apache-2.0
// Frequencies: how fast each pair of one RotarySpec turns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rotary/export.h"
#include "rotary/ggml_angles.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// inv_freq is the truth that every error bound of this library refers to; turns and steps
// are derived from it by make_frequencies. Under Numerics::transformers it is the float32 that the
// model computes with (but for Rounding::double_angle); under Numerics::ggml it is what the angles
// come to before float32 rounds them, so YaRN's ramp there is that of whole pairs.
struct Frequencies {
  HeadWindow window;
  std::vector<double> inv_freq;      // [pairs], radians per position; negative: turns by -φ
  std::vector<std::uint64_t> turns;  // [pairs], turns per position in units of 2^-64, modulo 1
  std::vector<double> steps;         // for make_rotations: cos and sin of the first positions
  double attention_factor = 1;       // A: multiplies cos and sin, so a score grows by A^2
  // Where the rule depends on the length of the context: the lengths that give these frequencies.
  ContextRange contexts = {};
  // As in the spec; make_rotations applies them.
  std::optional<Xpos> xpos = {};  // rows are made for each Role
  Numerics numerics = Numerics::exact;
  Rounding rounding = Rounding::every_step;
  std::optional<GgmlAngles> ggml = {};  // for Numerics::ggml, which turns by these
};

// context_tokens: the length of the context, >= 1, for rules whose frequencies depend on it
// (depends_on_context), and ignored by the others. What counts as its length is the server's
// choice: the tokens so far (Transformers, at each forward pass) or the most that will ever be
// (vLLM, llama.cpp). Errors: invalid_argument when the spec breaks a requirement stated with its
// fields, when the rule needs a context length and has none, when it gives an attention factor
// outside [2^-20, 2^20], or when ggml's operation cannot express it under Numerics::ggml.
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(
    const RotarySpec& spec, std::optional<std::int64_t> context_tokens = {}) noexcept;

// Whether keys that were rotated under one are right for queries rotated under the other: all that
// turns them is the same. When it is false a KV cache made under the one must be
// rotated again (make_shift), or made again.
[[nodiscard]] ROTARY_API bool rotate_alike(const Frequencies& one,
                                           const Frequencies& other) noexcept;

// Frequencies from an explicit list, one for each pair of the window: -2^40 < inv_freq < 2^40;
// attention_factor in [2^-20, 2^20].
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(const HeadWindow& window,
                                                              std::vector<double> inv_freq,
                                                              double attention_factor) noexcept;

}  // namespace rotary
