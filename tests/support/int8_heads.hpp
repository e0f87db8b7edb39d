// SPDX-License-Identifier: Apache-2.0
// 8-bit heads and a scale for each head and token, in a buffer whose other bytes are guards.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "check/keys.hpp"
#include "rotary/tensor_view.hpp"
#include "support/random.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

inline constexpr std::int8_t int8_guard = 0x55;

enum class Lying { bthd, bhtd, padded, backwards, scales_behind_heads };
inline constexpr std::array all_lyings = {Lying::bthd, Lying::bhtd, Lying::padded, Lying::backwards,
                                          Lying::scales_behind_heads};

class Int8Heads {
 public:
  Int8Heads(const Extents& extents, Lying lying) {
    const bool padded = lying == Lying::padded;
    const bool behind = lying == Lying::scales_behind_heads;
    view_.extents = extents;
    Extents room = extents;  // with the padding or the scale behind each head
    room.features = behind ? (extents.features + 7) / 4 * 4 : extents.features + (padded ? 3 : 0);
    view_.strides = lying == Lying::bhtd ? strides_bhtd(room) : strides_bthd(room);
    const std::int64_t heads = extents.batch * extents.tokens * extents.heads;
    const std::int64_t elements = heads * room.features;
    const std::int64_t scales_at = (elements + 64) / 4 * 4;
    bytes_.assign(static_cast<std::size_t>(scales_at + heads * 8 + 64), int8_guard);
    auto* const scales = reinterpret_cast<float*>(bytes_.data() + (behind ? 0 : scales_at));
    const std::int64_t unit = behind ? room.features / 4 : (padded ? 2 : 1);
    const Extents places{extents.batch, extents.tokens, extents.heads, unit};
    const Strides s = lying == Lying::bhtd ? strides_bhtd(places) : strides_bthd(places);
    view_.scale_strides = {.batch = s.batch, .token = s.token, .head = s.head};
    view_.data = bytes_.data() + (behind ? 0 : 1);  // an odd address
    view_.scales = scales + (behind ? unit - 1 : 0);
    if (lying == Lying::backwards) {
      view_.data += (extents.tokens - 1) * view_.strides.token;
      view_.scales += (extents.tokens - 1) * view_.scale_strides.token;
      view_.strides.token = -view_.strides.token;
      view_.scale_strides.token = -view_.scale_strides.token;
    }
  }
  Int8Heads(Int8Heads&&) = default;
  Int8Heads(const Int8Heads&) = delete;
  Int8Heads& operator=(const Int8Heads&) = delete;

  [[nodiscard]] const QuantizedHeadsView& view() const { return view_; }
  [[nodiscard]] std::int8_t& element(const HeadIndex& at, std::int64_t f) const {
    const auto& s = view_.strides;
    return view_.data[at.batch * s.batch + at.token * s.token + at.head * s.head + f];
  }
  [[nodiscard]] float& scale(const HeadIndex& at) const {
    const auto& s = view_.scale_strides;
    return view_.scales[at.batch * s.batch + at.token * s.token + at.head * s.head];
  }
  [[nodiscard]] check::Int8Head head(const HeadIndex& at) const {
    const std::int8_t* const first = &element(at, 0);
    return {{first, first + view_.extents.features}, scale(at)};
  }
  [[nodiscard]] const std::vector<std::int8_t>& bytes() const { return bytes_; }

  // Scales have any sign, and 2^low <= |scale| < 2^(high + 1).
  void fill(std::uint64_t seed, int low, int high) const {
    Random random(seed);
    for_each_element(view_.extents, [&](const HeadIndex& at, std::int64_t f) {
      if (f == 0) scale(at) = static_cast<float>(random.magnitude(low, high));
      element(at, f) = static_cast<std::int8_t>(random.integer(-128, 127));
    });
  }

  // The exact values as double.
  [[nodiscard]] Tensor values() const {
    Tensor tensor({.dtype = DType::f64, .extents = view_.extents});
    for_each_element(view_.extents, [&](const HeadIndex& at, std::int64_t f) {
      tensor.set(at, f, double{scale(at)} * element(at, f));
    });
    return tensor;
  }

  // Whether all bytes besides elements and scales are unchanged.
  [[nodiscard]] bool guards_intact() const {
    std::vector<std::int8_t> rest = bytes_;
    for_each_element(view_.extents, [&](const HeadIndex& at, std::int64_t f) {
      rest[static_cast<std::size_t>(&element(at, f) - bytes_.data())] = int8_guard;
      const auto begin = reinterpret_cast<std::int8_t*>(&scale(at)) - bytes_.data();
      std::fill_n(rest.begin() + begin, 4, int8_guard);
    });
    return std::all_of(rest.begin(), rest.end(),
                       [](std::int8_t byte) { return byte == int8_guard; });
  }

 private:
  QuantizedHeadsView view_;
  std::vector<std::int8_t> bytes_;
};

}  // namespace rotary::test
