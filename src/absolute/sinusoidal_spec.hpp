// SPDX-License-Identifier: Apache-2.0
// What every function that takes a Sinusoidal asks of it.
#pragma once

#include <cstdint>

#include "rotary/result.hpp"
#include "rotary/sinusoidal.hpp"

namespace rotary {

// Frequencies of a valid spec.
[[nodiscard]] std::int64_t pairs_of(const SinusoidalSpec& spec) noexcept;

[[nodiscard]] Status validate(const Sinusoidal& sinusoidal);

// Frequencies are what a base > 1 gives. Asked where they are read: at positions that are doubles.
// Requires a valid value.
[[nodiscard]] Status check_inv_freq(const Sinusoidal& sinusoidal);

}  // namespace rotary
