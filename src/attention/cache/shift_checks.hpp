// SPDX-License-Identifier: Apache-2.0
// Checks a shift: its rotations, and the keys before and after the shift.
#pragma once

#include <cstdint>

#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Refuses rotations that cannot rotate an already rotated key.
[[nodiscard]] Status check_shift(const Rotations& by);

// The keys before or after the shift. A batch of 1 serves every batch row.
struct ShiftSide {
  const HeadWindow& window;
  double attention_factor;
  std::int64_t batch;
  std::int64_t tokens;
};

// Checks that keys can be shifted from one side to the other.
[[nodiscard]] Status check_sides(const ShiftSide& from, const ShiftSide& to);

}  // namespace rotary
