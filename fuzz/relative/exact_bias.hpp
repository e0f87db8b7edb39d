// SPDX-License-Identifier: Apache-2.0
// Expected biases and their gradients.
#pragma once

#include <span>

#include "fuzz/relative/bias_case.hpp"
#include "fuzz/strided.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::fuzz {

// Compares a bias in double with the long double reference, within bias_error_bound. A bias of T5
// must equal its table's element in memory.before.
void check_exact(const RelativeBias& bias, const BiasIndex& at, double got, const Memory& memory);

// Gradients of a relative bias's numbers, compared with long double.

struct BiasGradient {
  const RelativeBias& bias;
  const PlacesOfScores& places;
  ConstScoresView d_bias;
};

// gradients are in the buffer; memory.before has their contents from before the call.
void check_gradient(const BiasGradient& of, std::span<const double> gradients,
                    const Memory& memory);

}  // namespace rotary::fuzz
