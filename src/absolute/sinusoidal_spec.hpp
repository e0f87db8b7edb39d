// SPDX-License-Identifier: Apache-2.0
// Checks a Sinusoidal, for every function that takes one.
#pragma once

#include <cstdint>

#include "rotary/absolute.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Number of frequencies of a valid spec.
[[nodiscard]] std::int64_t pairs_of(const SinusoidalSpec& spec) noexcept;

[[nodiscard]] Status validate(const Sinusoidal& sinusoidal);

// Checks that inv_freq could come from a base > 1. Only positions in double need this, because they
// read inv_freq. Requires a value that validate() accepts.
[[nodiscard]] Status check_inv_freq(const Sinusoidal& sinusoidal);

}  // namespace rotary
