// SPDX-License-Identifier: Apache-2.0
// Compares heads that a call has rotated by cos/sin rows with long double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/elements.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// The features of one head in any layout.
struct Head {
  const std::byte* first = nullptr;
  DType dtype = {};
  std::int64_t stride = 1;  // in elements

  [[nodiscard]] const std::byte* element(std::int64_t feature) const {
    return first + feature * stride * size_in_bytes(dtype);
  }
  [[nodiscard]] double at(std::int64_t feature) const { return value_at(dtype, element(feature)); }
};

// The row and the direction that rotate a head.
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

// Each pair of `after` must be the rotated pair of `before`, within the bound of the dtype of
// `after`. Other features must be equal, or rounded once to another dtype. Uses the rows as they
// are; they must have numerics exact.
void check_turned(const Head& before, const Head& after, const TurnedBy& by);

// As above, for every head of a view. before may be the same view.
struct TurnedView {
  ConstHeadsView before;
  ConstHeadsView after;
  Direction direction = Direction::forward;
};
void check_turned(const TurnedView& view, const Rotations& rotations, const Memory& memory);

// Checks a feature that was stored unrotated: equal, rounded once to another dtype, or NaN for NaN.
// Otherwise fails and names the requirement.
void check_stored(const Head& before, const Head& after, std::int64_t feature,
                  std::string_view what);

// True if rotations may rotate these heads, as the comments of rotate.hpp require.

[[nodiscard]] inline bool fit(const Extents& n, const Rotations& rotations) {
  return n.features == rotations.window().head_dim && n.tokens == rotations.tokens() &&
         (rotations.batch() == 1 || n.batch == rotations.batch());
}

[[nodiscard]] inline bool fits(const ConstHeadsView& view, const Rotations& rotations) {
  return fit(view.extents, rotations) &&
         (view.dtype == DType::f64) == (rotations.row_dtype() == RowDType::f64) &&
         (!rotations.tensors() || *rotations.tensors() == view.dtype);
}

}  // namespace rotary::fuzz
