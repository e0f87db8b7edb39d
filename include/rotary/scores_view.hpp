// SPDX-License-Identifier: Apache-2.0
// Views of attention scores, of their biases or gradients, or of attention weights: one number for
// each query and key of each head.
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

// data is aligned to the element size.
struct ConstScoresView {
  const void* data = nullptr;
  DType dtype = {};  // no default: every call refuses a value that is no enumerator
  ScoresExtents extents = {};
  ScoresStrides strides = {};
};

// The same, to write.
struct ScoresView {
  void* data = nullptr;
  DType dtype = {};
  ScoresExtents extents = {};
  ScoresStrides strides = {};

  // NOLINTNEXTLINE(google-explicit-constructor): a view to write is also a view to read
  operator ConstScoresView() const noexcept { return {data, dtype, extents, strides}; }
};

// A learned table, to read: [rows, columns], strides in elements.
struct ConstMatrixView {
  const void* data = nullptr;
  DType dtype = {};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

}  // namespace rotary
