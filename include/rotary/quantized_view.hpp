// SPDX-License-Identifier: Apache-2.0
// Views of keys or values in 8 bits with one float32 scale for each head and token: number = scale
// * element. Made by append (kv_cache.hpp), read by attend (attention.hpp), turned by shift
// (shift.hpp).
//
//   const Extents extents{.batch = 1, .tokens = 5, .heads = 8, .features = 64};
//   const QuantizedHeadsView k{elements, data, extents, strides_bthd(extents),
//                              scale_strides_bthd(extents)};
#pragma once

#include <cstdint>

#include "rotary/tensor_view.hpp"

namespace rotary {

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

// Elements are laid out as in a HeadsView; the features of a head are adjacent (strides.feature is
// 1).
struct ConstQuantizedHeadsView {
  const std::int8_t* data = nullptr;
  const float* scales = nullptr;
  Extents extents = {};
  Strides strides = {};
  ScaleStrides scale_strides = {};
};

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

}  // namespace rotary
