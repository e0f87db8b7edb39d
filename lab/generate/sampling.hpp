// SPDX-License-Identifier: Apache-2.0
// Choosing the next token from logits.
#pragma once

#include <cstdint>
#include <span>

#include "lab/data/random.hpp"

namespace rotary::lab {

struct Sampling {
  double temperature = 1;  // logits are divided by it; 0: takes the largest
  std::int64_t top_k = 0;  // chooses among this many largest logits; 0: all
};

// Index of the token, chosen with its probability in the softmax of the logits. Among equal logits
// the first ranks first.
[[nodiscard]] std::int64_t choose(std::span<const float> logits, const Sampling& sampling,
                                  Random& random);

}  // namespace rotary::lab
