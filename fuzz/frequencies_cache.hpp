// SPDX-License-Identifier: Apache-2.0
// Makes frequencies once for each kind and number of pairs: making them takes longer than a case.
#pragma once

#include <cstdint>

#include "rotary/frequencies.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::fuzz {

// Kinds of spec. Each has another base or scaling rule.
inline constexpr std::int64_t spec_kinds = 5;

// More kinds: other numerics than exact, and xPos.
inline constexpr std::int64_t first_recipe = spec_kinds;  // transformers, by each Rounding
inline constexpr std::int64_t ggml_kind = first_recipe + 4;
inline constexpr std::int64_t xpos_kind = ggml_kind + 1;
inline constexpr std::int64_t all_spec_kinds = xpos_kind + 1;

// The next call may change the window of the returned frequencies.
[[nodiscard]] const Frequencies& frequencies_of(const HeadWindow& window, std::int64_t kind);

}  // namespace rotary::fuzz
