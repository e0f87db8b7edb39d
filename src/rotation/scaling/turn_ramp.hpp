// SPDX-License-Identifier: Apache-2.0
// The ramp between pairs that a rule keeps and pairs that it slows down.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rotation/scaling/rules.hpp"

namespace rotary {

// Numbers of turns within the original context, fast >= slow > 0.
struct TurnRange {
  double fast = 0;
  double slow = 0;
  std::int64_t original_context_tokens = 0;
};

// Whether the ends of a ramp are rounded outwards to whole pairs.
enum class RampEnds { whole_pairs, fractional };

// A linear ramp over the pair's index.
struct TurnRamp {
  double low = 0;
  double high = 0;

  // 0 for pairs that make `fast` turns or more, 1 for those that make `slow` turns or fewer.
  [[nodiscard]] double at(std::size_t pair) const;
};

// Keeps low >= 0 and high <= d - 1 as every implementation does, although only d/2 pairs exist.
[[nodiscard]] TurnRamp turn_ramp(const TurnRange& turns, const UnscaledRotary& rotary,
                                 RampEnds ends);

// YaRN's ramp, for rules whose YarnRamp is not turns.
[[nodiscard]] TurnRamp turn_ramp(const YarnScaling& rule, const UnscaledRotary& rotary);

}  // namespace rotary
