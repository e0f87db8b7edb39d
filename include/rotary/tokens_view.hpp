// SPDX-License-Identifier: Apache-2.0
// Views for absolute encodings: embeddings [batch, tokens, features], and tables of rows [rows,
// features] in which embeddings are looked up.
#pragma once

#include <cstdint>

#include "rotary/tensor_view.hpp"

namespace rotary {

// Each at least 0; a view with an extent of 0 has no element and every operation on it succeeds.
struct TokenExtents {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t features = 0;  // d_model, hidden_size

  friend bool operator==(const TokenExtents&, const TokenExtents&) = default;
};

// In elements, not bytes. Negative strides are legal; a destination stride of 0 is not, unless its
// extent is 1.
struct TokenStrides {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t feature = 1;

  friend bool operator==(const TokenStrides&, const TokenStrides&) = default;
};

// Contiguous [batch, tokens, features].
[[nodiscard]] constexpr TokenStrides strides_btd(const TokenExtents& extents) noexcept {
  return {.batch = extents.tokens * extents.features, .token = extents.features};
}

// Element (b, t, f) is at data + b*strides.batch + t*strides.token + f*strides.feature elements.
// data is aligned to the element size.
struct ConstTokensView {
  const void* data = nullptr;
  DType dtype = {};  // no default: every call refuses a value that is no enumerator
  TokenExtents extents = {};
  TokenStrides strides = {};

  friend bool operator==(const ConstTokensView&, const ConstTokensView&) = default;
};

// The same, to write.
struct TokensView {
  void* data = nullptr;
  DType dtype = {};
  TokenExtents extents = {};
  TokenStrides strides = {};

  // NOLINTNEXTLINE(google-explicit-constructor): a view to write is also a view to read
  operator ConstTokensView() const noexcept { return {data, dtype, extents, strides}; }
};

// Element (r, f) is at data + r*row_stride + f*feature_stride elements: the weight of a torch
// Embedding is {data, dtype, num_embeddings, embedding_dim, embedding_dim}.
struct ConstTableView {
  const void* data = nullptr;
  DType dtype = {};  // no default, as above
  std::int64_t rows = 0;
  std::int64_t features = 0;
  std::int64_t row_stride = 0;
  std::int64_t feature_stride = 1;
};

// The same, to write.
struct TableView {
  void* data = nullptr;
  DType dtype = {};
  std::int64_t rows = 0;
  std::int64_t features = 0;
  std::int64_t row_stride = 0;
  std::int64_t feature_stride = 1;

  // NOLINTNEXTLINE(google-explicit-constructor): a view to write is also a view to read
  operator ConstTableView() const noexcept {
    return {data, dtype, rows, features, row_stride, feature_stride};
  }
};

}  // namespace rotary
