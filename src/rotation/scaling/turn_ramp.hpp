// SPDX-License-Identifier: Apache-2.0
// Pairs ordered by how often they turn within a context: where a rule goes from those that it keeps
// to those that it stretches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rotation/scaling/rules.hpp"

namespace rotary {

// Turns within the original context, fast >= slow > 0.
struct TurnRange {
  double fast = 0;
  double slow = 0;
  std::int64_t original_context_tokens = 0;
};

// Whether a ramp starts and ends on whole pairs, rounded outwards, or between them.
enum class RampEnds { whole_pairs, fractional };

// A linear ramp over the pair's index.
struct TurnRamp {
  double low = 0;
  double high = 0;

  // 0 for pairs that turn fast times or more, 1 for those that turn slow times or less.
  [[nodiscard]] double at(std::size_t pair) const;
};

// Between 0 and d - 1, although only d/2 pairs exist: every implementation does so.
[[nodiscard]] TurnRamp turn_ramp(const TurnRange& turns, const UnscaledRotary& rotary,
                                 RampEnds ends);

}  // namespace rotary
