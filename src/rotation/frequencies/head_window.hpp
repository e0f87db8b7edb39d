// SPDX-License-Identifier: Apache-2.0
// What every function that takes a window asks of it.
#pragma once

#include <cstdint>
#include <span>

#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// Far beyond any model (the largest in use is 576). Keeps every product of sizes within int64, and
// what a few bytes of config can ask for, the table of phase steps, within 16 MiB and 0.1 s.
inline constexpr std::int64_t max_head_dim = std::int64_t{1} << 16;

[[nodiscard]] Status validate(const HeadWindow& window);

// A and 1/A² times any cos stay well within float32: 2^-20 <= A <= 2^20.
[[nodiscard]] Status validate_attention_factor(double attention_factor);

// One for each pair, each in (-2^40, 2^40).
[[nodiscard]] Status validate_inv_freq(const HeadWindow& window, std::span<const double> inv_freq);

}  // namespace rotary
