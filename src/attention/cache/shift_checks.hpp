// SPDX-License-Identifier: Apache-2.0
// The requirements of every shift on its rotations, and on the two sides that they are made of.
#pragma once

#include <cstdint>

#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

// Refuses rotations that cannot rotate keys which are rotated already.
[[nodiscard]] Status check_shift(const Rotations& by);

// Keys as they are, or are to be. batch 1 serves every batch row.
struct ShiftSide {
  const HeadWindow& window;
  double attention_factor;
  std::int64_t batch;
  std::int64_t tokens;
};

// Checks that keys can be taken from one side to the other.
[[nodiscard]] Status check_sides(const ShiftSide& from, const ShiftSide& to);

}  // namespace rotary
