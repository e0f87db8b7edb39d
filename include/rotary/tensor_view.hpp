// SPDX-License-Identifier: Apache-2.0
// Views of the caller's memory: a pointer, a type, named extents and strides. Strides define the
// order of axes, so [B,T,H,D], [B,H,T,D], packed [N,H,D] and a slice of a fused QKV projection have
// one type.
//
//   const Extents extents{.batch = 1, .tokens = 5, .heads = 32, .features = 128};
//   const HeadsView q{data, DType::bf16, extents, strides_bthd(extents)};
#ifndef ROTARY_TENSOR_VIEW_HPP
#define ROTARY_TENSOR_VIEW_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace rotary {

// Element type of a view.
enum class DType : std::int32_t {
  f32 = 1,   // IEEE binary32
  bf16 = 2,  // the upper 16 bits of binary32
  f16 = 3,   // IEEE binary16
  f64 = 4,   // IEEE binary64
};

// "f32", "bf16", "f16", "f64"; "unknown" for other values.
[[nodiscard]] constexpr std::string_view to_string(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f64:
      return "f64";
  }
  return "unknown";
}

// 0 for other values.
[[nodiscard]] constexpr std::int64_t size_in_bytes(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::f64:
      return 8;
  }
  return 0;
}

// Each at least 0; a view with an extent of 0 has no element and every operation on it succeeds.
struct Extents {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t features = 0;  // head_dim

  friend bool operator==(const Extents&, const Extents&) = default;
};

// In elements, not bytes. Negative strides are legal; a destination stride of 0 is not, unless its
// extent is 1.
struct Strides {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;
  std::int64_t feature = 1;

  friend bool operator==(const Strides&, const Strides&) = default;
};

// Contiguous [batch, tokens, heads, features]; with batch 1 also packed [tokens, heads, features].
[[nodiscard]] constexpr Strides strides_bthd(const Extents& extents) noexcept {
  return {.batch = extents.tokens * extents.heads * extents.features,
          .token = extents.heads * extents.features,
          .head = extents.features};
}

// Contiguous [batch, heads, tokens, features].
[[nodiscard]] constexpr Strides strides_bhtd(const Extents& extents) noexcept {
  return {.batch = extents.heads * extents.tokens * extents.features,
          .token = extents.features,
          .head = extents.tokens * extents.features};
}

// Elements in the caller's memory: an element is at data plus index * stride for each axis. data is
// aligned to the element size; elements are less than 2^62 bytes from it. Data: void or const void.
template <class Data, class ExtentsOf, class StridesOf>
struct StridedView {
  Data* data = nullptr;
  DType dtype = {};  // must be given
  ExtentsOf extents = {};
  StridesOf strides = {};

  // NOLINTNEXTLINE(google-explicit-constructor): a view to write is also a view to read
  operator StridedView<const Data, ExtentsOf, StridesOf>() const noexcept
      requires(!std::is_const_v<Data>) {
    return {data, dtype, extents, strides};
  }
  friend bool operator==(const StridedView&, const StridedView&) = default;
};

// Queries, keys or values: [batch, tokens, heads, features].
using HeadsView = StridedView<void, Extents, Strides>;
using ConstHeadsView = StridedView<const void, Extents, Strides>;

// Views for absolute encodings: embeddings [batch, tokens, features] and lookup tables [rows,
// features].
//
//   const TokenExtents extents{.batch = 1, .tokens = 5, .features = 512};
//   const TokensView x{data, DType::f32, extents, strides_btd(extents)};

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

// A table [rows, features]. Element (r, f) is at data + r*row_stride + f*feature_stride elements.
// The weight of a torch Embedding is {data, dtype, num_embeddings, embedding_dim, embedding_dim}.
template <class Data>
struct BasicTableView {
  Data* data = nullptr;
  DType dtype = {};  // must be given
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

// Views of keys or values in 8 bits with one float32 scale for each head and token: number = scale
// * element. append() (kv_cache.hpp) writes them, attend() (attention.hpp) reads them, shift()
// (shift.hpp) rotates them.
//
//   const Extents extents{.batch = 1, .tokens = 5, .heads = 8, .features = 64};
//   const QuantizedHeadsView k{elements, data, extents, strides_bthd(extents),
//                              scale_strides_bthd(extents)};

// In elements, not bytes: the scale of (batch b, token t, head h) is at
// scales + b*batch + t*token + h*head.
struct ScaleStrides {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;

  friend bool operator==(const ScaleStrides&, const ScaleStrides&) = default;
};

// Contiguous [batch, tokens, heads].
[[nodiscard]] constexpr ScaleStrides scale_strides_bthd(const Extents& extents) noexcept {
  return {.batch = extents.tokens * extents.heads, .token = extents.heads, .head = 1};
}

// Contiguous [batch, heads, tokens].
[[nodiscard]] constexpr ScaleStrides scale_strides_bhtd(const Extents& extents) noexcept {
  return {.batch = extents.heads * extents.tokens, .token = 1, .head = extents.tokens};
}

// Read-only heads in 8 bits; strides.feature must be 1.
struct ConstQuantizedHeadsView {
  const std::int8_t* data = nullptr;
  const float* scales = nullptr;
  Extents extents = {};
  Strides strides = {};
  ScaleStrides scale_strides = {};
};

// Heads in 8 bits; strides.feature must be 1.
struct QuantizedHeadsView {
  std::int8_t* data = nullptr;
  float* scales = nullptr;
  Extents extents = {};
  Strides strides = {};
  ScaleStrides scale_strides = {};

  // NOLINTNEXTLINE(google-explicit-constructor): a view to write is also a view to read
  operator ConstQuantizedHeadsView() const noexcept {
    return {data, scales, extents, strides, scale_strides};
  }
};

// Views of attention scores, biases, weights or gradients: one number for each query and key of
// each head.
//
//   const ScoresExtents extents{.heads = 8, .queries = 4, .keys = 16};
//   const ScoresView scores{data, DType::f32, extents, strides_bhqk(extents)};

// Each at least 0; a view with an extent of 0 has no element and every operation on it succeeds.
// Views of all kinds passed to relative encodings have fewer than 2^60 elements.
struct ScoresExtents {
  std::int64_t batch = 1;
  std::int64_t heads = 0;
  std::int64_t queries = 0;  // rows
  std::int64_t keys = 0;     // columns

  friend bool operator==(const ScoresExtents&, const ScoresExtents&) = default;
};

// In elements. Negative strides are legal; a destination stride of 0 is not, unless its extent is
// 1. A source view with a stride of 0 has fewer than 2^36 elements.
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

#endif  // ROTARY_TENSOR_VIEW_HPP
