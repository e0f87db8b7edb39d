// SPDX-License-Identifier: Apache-2.0
// Compares rotated elements with the reference, within the bounds of
// include/rotary/numeric_contract.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "check/rotated.hpp"
#include "reference/tensor.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::test {

using check::features_read;
using check::features_written;
using check::turns;

class Oracle {
 public:
  Oracle(Frequencies frequencies, Positions positions)
      : frequencies_(std::move(frequencies)),
        positions_(std::move(positions)),
        rows_(positions_, frequencies_.inv_freq, frequencies_.axes) {}
  // For frequencies with xPos.
  Oracle(Frequencies frequencies, Positions positions, Role role)
      : frequencies_(std::move(frequencies)),
        positions_(std::move(positions)),
        rows_(positions_, frequencies_.inv_freq, {.xpos = *frequencies_.xpos, .role = role}) {}

  // Checks that dst is src rotated, within the bound, and that unrotated features are copied.
  [[nodiscard]] testing::AssertionResult accepts(const ConstHeadsView& dst,
                                                 const ConstHeadsView& src,
                                                 Direction direction) const;

 private:
  Frequencies frequencies_;
  Positions positions_;
  reference::AngleRows rows_;
};

}  // namespace rotary::test
