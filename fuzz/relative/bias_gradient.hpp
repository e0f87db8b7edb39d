// SPDX-License-Identifier: Apache-2.0
// Gradients of the numbers of a relative bias, against the same in long double.
#pragma once

#include <span>

#include "fuzz/relative/bias_case.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {

struct BiasGradient {
  const RelativeBias& bias;
  const PlacesOfScores& places;
  ConstScoresView d_bias;
};

// gradients lie in the buffer; before the call they were what memory.before says.
void check_gradient(const BiasGradient& of, std::span<const double> gradients,
                    const Memory& memory);

}  // namespace rotary::fuzz
