// SPDX-License-Identifier: Apache-2.0
// Choosing the next token from logits.
#pragma once

#include <cstdint>
#include <span>

#include "lab/data/random.hpp"

namespace rotary::lab {

struct Sampling {
  double temperature = 1;  // logits are divided by it; 0: the largest one is taken
  std::int64_t top_k = 0;  // of the largest logits alone; 0: of all
};

// Index of the token, with the probability that the softmax of the logits gives it. Of equal logits
// the first comes first.
[[nodiscard]] std::int64_t choose(std::span<const float> logits, const Sampling& sampling,
                                  Random& random);

}  // namespace rotary::lab
