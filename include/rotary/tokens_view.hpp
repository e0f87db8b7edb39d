// SPDX-License-Identifier: Apache-2.0
// Views for absolute encodings: embeddings [batch, tokens, features], and tables of rows [rows,
// features] in which embeddings are looked up.
//
//   const TokenExtents extents{.batch = 1, .tokens = 5, .features = 512};
//   const TokensView x{data, DType::f32, extents, strides_btd(extents)};
#pragma once

#include <cstdint>
#include <type_traits>

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

using TokensView = StridedView<void, TokenExtents, TokenStrides>;
using ConstTokensView = StridedView<const void, TokenExtents, TokenStrides>;

// A table [rows, features]. Element (r, f) is at data + r*row_stride + f*feature_stride elements:
// the weight of a torch Embedding is {data, dtype, num_embeddings, embedding_dim, embedding_dim}.
template <class Data>
struct BasicTableView {
  Data* data = nullptr;
  DType dtype = {};  // no default, as above
  std::int64_t rows = 0;
  std::int64_t features = 0;
  std::int64_t row_stride = 0;
  std::int64_t feature_stride = 1;

  // NOLINTNEXTLINE(google-explicit-constructor): a view to write is also a view to read
  operator BasicTableView<const Data>() const noexcept requires(!std::is_const_v<Data>) {
    return {data, dtype, rows, features, row_stride, feature_stride};
  }
};
using TableView = BasicTableView<void>;
using ConstTableView = BasicTableView<const void>;

}  // namespace rotary
