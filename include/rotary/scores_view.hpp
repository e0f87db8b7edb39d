// SPDX-License-Identifier: Apache-2.0
// Views of attention scores, of their biases or gradients, or of attention weights: one number for
// each query and key of each head.
//
//   const ScoresExtents extents{.heads = 8, .queries = 4, .keys = 16};
//   const ScoresView scores{data, DType::f32, extents, strides_bhqk(extents)};
#pragma once

#include <cstdint>

#include "rotary/tensor_view.hpp"

namespace rotary {

// Each at least 0; a view with an extent of 0 has no element and every operation on it succeeds.
// Views passed to relative encodings, those of heads and tables included, have fewer than 2^60
// elements.
struct ScoresExtents {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t queries = 0;  // rows
  std::int64_t keys = 0;     // columns

  friend bool operator==(const ScoresExtents&, const ScoresExtents&) = default;
};

// In elements. Negative strides are legal; a destination stride of 0 is not, unless its extent is
// 1. A source view whose elements repeat by a stride of 0 has fewer than 2^36.
struct ScoresStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t query = 0;
  std::int64_t key = 1;

  friend bool operator==(const ScoresStrides&, const ScoresStrides&) = default;
};

// Contiguous [batch, heads, queries, keys].
[[nodiscard]] constexpr ScoresStrides strides_bhqk(const ScoresExtents& extents) noexcept {
  return {.batch = extents.heads * extents.queries * extents.keys,
          .head = extents.queries * extents.keys,
          .query = extents.keys};
}

using ScoresView = StridedView<void, ScoresExtents, ScoresStrides>;
using ConstScoresView = StridedView<const void, ScoresExtents, ScoresStrides>;

}  // namespace rotary
