// SPDX-License-Identifier: Apache-2.0
// A relative bias in double against the same in long double.
#pragma once

#include "fuzz/strided.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::fuzz {

// Within bias_error_bound. A table of T5 lies in the buffer and is read as it was before.
void check_exact(const RelativeBias& bias, const BiasIndex& at, double got, const Memory& memory);

}  // namespace rotary::fuzz
