// SPDX-License-Identifier: Apache-2.0
// Checks of windows and frequencies.
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

// The largest head of a model has 576 features. This bound keeps products of sizes within int64 and
// limits the table of phase steps to 8 MiB.
inline constexpr std::int64_t max_head_dim = std::int64_t{1} << 16;

[[nodiscard]] Status validate(const HeadWindow& window);

// Requires 2^-20 <= A <= 2^20, so that A and 1/A², times any cos, are well within float32.
[[nodiscard]] Status validate_attention_factor(double attention_factor);

// Requires one entry in (-2^40, 2^40) for each pair; for dense axes, one for each axis and pair.
[[nodiscard]] Status validate_inv_freq(const HeadWindow& window, const PairAxes& axes,
                                       std::span<const double> inv_freq);

// Checks that each pair has the numbers that these positions need.
[[nodiscard]] Status validate(const Frequencies& frequencies, const Positions& positions);

// A spec's frequencies without `turns` and `steps`, for code that compares many specs.
struct SpecNumbers {
  HeadWindow window;
  ScaledFrequencies scaled;
  std::optional<GgmlAngles> ggml;
  PairAxes axes;
};

// Fails as make_frequencies() does, but does not check the resulting numbers.
[[nodiscard]] Result<SpecNumbers> numbers_of(const RotarySpec& spec,
                                             std::optional<std::int64_t> context_tokens);

}  // namespace rotary
