// SPDX-License-Identifier: Apache-2.0
// Compares heads that a call rotated by cos/sin rows with a rotation in long double.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fuzz/strided.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

struct Head {
  DType dtype = {};
  std::vector<double> features = {};
};

// The head at this index of a view, before the call and after it.
[[nodiscard]] Head head_before(const ConstHeadsView& view, Axes index, const Memory& memory);
[[nodiscard]] Head head_after(const ConstHeadsView& view, Axes index, const Memory& memory);

// The row and the direction that rotate a head.
struct TurnedBy {
  const Rotations& rotations;
  Direction direction = Direction::forward;
  std::int64_t batch = 0;
  std::int64_t token = 0;
};

// Each pair of `after` must be the rotated pair of `before`, within the bound of the dtype of
// `after`. Other features must be equal, or rounded once to another dtype. Needs rows of exact
// numerics.
void check_turned(const Head& before, const Head& after, const TurnedBy& by);

// As above, for every head of two views, or of one view passed twice. Ignores by.batch, by.token.
void check_turned(const ConstHeadsView& before, const ConstHeadsView& after, TurnedBy by,
                  const Memory& memory);

// Fails unless a head was stored unrotated: equal, or rounded once to another dtype. what: the
// requirement, for the message.
void check_stored(const Head& before, const Head& after, std::string_view what);

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
