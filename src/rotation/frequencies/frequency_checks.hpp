// SPDX-License-Identifier: Apache-2.0
// The requirements on windows and frequencies of every function that takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rotary/axes.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotation/scaling/rules.hpp"

namespace rotary {

// Far beyond any model (the largest in use is 576). Keeps every product of sizes within int64, and
// limits the table of phase steps that a few bytes of config can ask for to 16 MiB and 0.1 s.
inline constexpr std::int64_t max_head_dim = std::int64_t{1} << 16;

[[nodiscard]] Status validate(const HeadWindow& window);

// 2^-20 <= A <= 2^20 keeps A and 1/A², times any cos, well within float32.
[[nodiscard]] Status validate_attention_factor(double attention_factor);

// Requires one entry for each pair, of dense axes for each axis and pair, each in (-2^40, 2^40).
[[nodiscard]] Status validate_inv_freq(const HeadWindow& window, const PairAxes& axes,
                                       std::span<const double> inv_freq);

// Checks that the frequencies are complete: everything these positions use has an entry for each
// pair.
[[nodiscard]] Status validate(const Frequencies& frequencies, const Positions& positions);

// The numbers of a spec without the tables that rotating needs, for what compares many specs.

struct SpecNumbers {
  HeadWindow window;
  ScaledFrequencies scaled;
  std::optional<GgmlAngles> ggml;
  PairAxes axes;
};

// Errors: those of make_frequencies() for the spec; what its numbers lead to is not checked.
[[nodiscard]] Result<SpecNumbers> numbers_of(const RotarySpec& spec,
                                             std::optional<std::int64_t> context_tokens);

}  // namespace rotary
