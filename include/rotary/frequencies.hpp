// SPDX-License-Identifier: Apache-2.0
// Frequencies: how fast each pair of one RotarySpec turns.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// inv_freq is the truth that every error bound of this library refers to; turns and steps
// are derived from it by make_frequencies.
struct Frequencies {
  HeadWindow window;
  std::vector<double> inv_freq;      // [pairs], radians per position
  std::vector<std::uint64_t> turns;  // [pairs], turns per position in units of 2^-64, modulo 1
  std::vector<double> steps;         // for make_rotations: cos and sin of the first positions
  double attention_factor = 1;       // A: multiplies cos and sin, so a score grows by A^2
};

// Errors: invalid_argument when the spec breaks a requirement stated with its fields, or when its
// rule gives an attention factor outside [2^-20, 2^20].
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(const RotarySpec& spec) noexcept;

// Frequencies from an explicit list, one for each pair of the window: 0 <= inv_freq < 2^40;
// attention_factor in [2^-20, 2^20].
[[nodiscard]] ROTARY_API Result<Frequencies> make_frequencies(const HeadWindow& window,
                                                              std::vector<double> inv_freq,
                                                              double attention_factor) noexcept;

}  // namespace rotary
