// SPDX-License-Identifier: Apache-2.0
// Compares what rotate wrote with the reference, element by element, within the bounds that
// include/rotary/numeric_contract.hpp promises and no wider.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "reference/tensor.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::test {

// Features of pair i, counted from the start of the head: before the rotation, and in the result.
// They differ for interleaved_to_half.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_read(const HeadWindow& window,
                                                                  Direction direction,
                                                                  std::int64_t pair) noexcept;
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_written(const HeadWindow& window,
                                                                     Direction direction,
                                                                     std::int64_t pair) noexcept;

[[nodiscard]] bool turns(const HeadWindow& window, std::int64_t feature) noexcept;

class Oracle {
 public:
  Oracle(Frequencies frequencies, Positions positions)
      : frequencies_(std::move(frequencies)),
        positions_(std::move(positions)),
        rows_(positions_, frequencies_.inv_freq, frequencies_.axes) {}
  // For frequencies with xpos.
  Oracle(Frequencies frequencies, Positions positions, Role role)
      : frequencies_(std::move(frequencies)),
        positions_(std::move(positions)),
        rows_(positions_, frequencies_.inv_freq, {.xpos = *frequencies_.xpos, .role = role}) {}

  // dst must be the rotation of src within the bound; other features must be src's bits.
  [[nodiscard]] testing::AssertionResult accepts(const ConstHeadsView& dst,
                                                 const ConstHeadsView& src,
                                                 Direction direction) const;

 private:
  Frequencies frequencies_;
  Positions positions_;
  reference::AngleRows rows_;
};

}  // namespace rotary::test
