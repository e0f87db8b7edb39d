// SPDX-License-Identifier: Apache-2.0
// Orthogonal random features: the directions that FAVOR+ estimates softmax attention with.
// Choromanski et al. 2021 (arXiv 2009.14794), section 2.4.
//
//   const auto directions = make_random_features({.head_dim = 64, .features = 256});
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/export.h"
#include "rotary/result.hpp"

namespace rotary {

struct RandomFeaturesSpec {
  std::int64_t head_dim = 0;  // in [1, 4096]
  std::int64_t features = 0;  // in [1, 65536]
  std::uint64_t seed = 0;
};

// [head_dim][features]: column r is the direction of feature r. Each group of head_dim columns is a
// random orthogonal basis whose vectors have the lengths of independent normal vectors, so that
// each vector alone is N(0, I); the last group may be part of a basis. Computed from integers and
// double's +, -, *, / and square root alone, in a fixed order, and rounded to float32 at the end: a
// seed gives the same bits on every machine. Errors: invalid_argument; out_of_memory.
[[nodiscard]] ROTARY_API Result<std::vector<float>> make_random_features(
    const RandomFeaturesSpec& spec) noexcept;

}  // namespace rotary
