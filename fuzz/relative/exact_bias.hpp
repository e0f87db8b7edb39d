// SPDX-License-Identifier: Apache-2.0
// Expected biases and their gradients.
#pragma once

#include <span>

#include "fuzz/relative/bias_case.hpp"
#include "fuzz/strided.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::fuzz {

// A relative bias in double against the same in long double.
// Within bias_error_bound. A table of T5 lies in the buffer and is read as it was before.
void check_exact(const RelativeBias& bias, const BiasIndex& at, double got, const Memory& memory);

// Gradients of the numbers of a relative bias, against the same in long double.

struct BiasGradient {
  const RelativeBias& bias;
  const PlacesOfScores& places;
  ConstScoresView d_bias;
};

// gradients lie in the buffer; before the call they were what memory.before says.
void check_gradient(const BiasGradient& of, std::span<const double> gradients,
                    const Memory& memory);

}  // namespace rotary::fuzz
