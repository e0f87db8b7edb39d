// SPDX-License-Identifier: Apache-2.0
// The frequencies of a RotarySpec in long double.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rotary/rotary_spec.hpp"

namespace rotary::reference {

struct Frequencies {
  std::vector<long double> inv_freq;  // [pairs], radians per position
  long double attention_factor = 1;
};

// Requires a valid spec, and the context length if its rule depends on it.
[[nodiscard]] Frequencies frequencies(const RotarySpec& spec,
                                      std::optional<std::int64_t> context_tokens = {});

}  // namespace rotary::reference
