// SPDX-License-Identifier: Apache-2.0
// Heads that a call has turned by rows of cos and sin, against the same in long double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/elements.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotations.hpp"

namespace rotary::fuzz {

// The features of one head, wherever they lie.
struct Head {
  const std::byte* first = nullptr;
  DType dtype = {};
  std::int64_t stride = 1;  // in elements

  [[nodiscard]] const std::byte* element(std::int64_t feature) const {
    return first + feature * stride * size_in_bytes(dtype);
  }
  [[nodiscard]] double at(std::int64_t feature) const { return value_at(dtype, element(feature)); }
};

// The row that turns a head, and how it does.
struct TurnedBy {
  const Rotations& rotations;
  Direction direction = Direction::forward;
  std::int64_t batch = 0;
  std::int64_t token = 0;
};

// A cos and A sin of one pair, as doubles.
struct RowOfPair {
  double cos = 1;
  double sin = 0;
};
[[nodiscard]] RowOfPair row_of_pair(const TurnedBy& by, std::int64_t pair);

// Each pair of `after` is that of `before` turned, within the bound of the dtype that it is stored
// in; the other features are the same, rounded once where that dtype is another. The rows are taken
// as they are, and are those of numerics exact.
void check_turned(const Head& before, const Head& after, const TurnedBy& by);

// The same of every head of a view; before may be the same view.
struct TurnedView {
  ConstHeadsView before;
  ConstHeadsView after;
  Direction direction = Direction::forward;
};
void check_turned(const TurnedView& view, const Rotations& rotations, const Memory& memory);

// A feature that a call has stored as it was, of NaNs that it is one, or rounded once to another
// dtype: fails otherwise, saying what must hold.
void check_stored(const Head& before, const Head& after, std::int64_t feature,
                  std::string_view what);

}  // namespace rotary::fuzz
