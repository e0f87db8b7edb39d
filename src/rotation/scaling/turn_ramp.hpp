// SPDX-License-Identifier: Apache-2.0
// The ramp, over pairs ordered by their turns within a context, from pairs that a rule keeps to
// pairs that it stretches.
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

// Whether a ramp's ends are rounded outwards to whole pairs.
enum class RampEnds { whole_pairs, fractional };

// A linear ramp over the pair's index.
struct TurnRamp {
  double low = 0;
  double high = 0;

  // 0 for pairs that make `fast` turns or more, 1 for those that make `slow` turns or fewer.
  [[nodiscard]] double at(std::size_t pair) const;
};

// Clamps the ramp to [0, d - 1], although only d/2 pairs exist, as every implementation does.
[[nodiscard]] TurnRamp turn_ramp(const TurnRange& turns, const UnscaledRotary& rotary,
                                 RampEnds ends);

// YaRN's ramp over pairs. Requires a rule whose ramp is not over turns.
[[nodiscard]] TurnRamp turn_ramp(const YarnScaling& rule, const UnscaledRotary& rotary);

}  // namespace rotary
