// SPDX-License-Identifier: Apache-2.0
// Views of the caller's memory: a pointer, a type, named extents and strides.
// Strides alone define the axis order, so [B,T,H,D], [B,H,T,D], packed [N,H,D] and a slice of a
// fused QKV projection are all the same type.
//
//   const Extents extents{.batch = 1, .tokens = 5, .heads = 32, .features = 128};
//   const HeadsView q{data, DType::bf16, extents, strides_bthd(extents)};
#pragma once

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

// "f32", "bf16", "f16", "f64"; "unknown" for a value that is none of them.
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

// 0 for a value that is no DType.
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

// Elements in the caller's memory: at data plus, for each axis, index * stride elements. data is
// aligned to the element size; a view reaches less than 2^62 bytes to either side of it. Data:
// void, or const void of a view to read.
template <class Data, class ExtentsOf, class StridesOf>
struct StridedView {
  Data* data = nullptr;
  DType dtype = {};  // no default: every call refuses a value that is no enumerator
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

}  // namespace rotary
