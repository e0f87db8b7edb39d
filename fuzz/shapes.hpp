// SPDX-License-Identifier: Apache-2.0
// Decodes dtypes, strides and addresses of views, usually like those of plausible callers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "fuzz/bytes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// Returns a dtype, or rarely a value that is no enumerator.
[[nodiscard]] DType decode_dtype(Bytes& input);

// A window for a head of this many features, at least 2.
[[nodiscard]] HeadWindow decode_window(Bytes& input, std::int64_t head_dim);

// Strides for axes in any order. Each axis steps over the axes inside it, forwards or backwards,
// with a gap. Strides nest unless a gap is negative. adjacent: features are innermost, stride 1.
enum class Features { anywhere, adjacent };
[[nodiscard]] Axes decode_ordered_strides(Bytes& input, const Axes& counts, Features features);

// Ordered strides, or one time in 16 any strides.
[[nodiscard]] Axes decode_strides(Bytes& input, const Axes& counts, Features features);

// Strides from -12 to 12, or any int64.
[[nodiscard]] Axes decode_small_strides(Bytes& input);
[[nodiscard]] Axes decode_wild_strides(Bytes& input);

// One time in 16 makes an extent 0. Less often adds -4 to 1 to an extent, or makes it any int64.
void disturb(Bytes& input, std::initializer_list<std::int64_t*> extents);
void disturb(Bytes& input, Extents& n);
void disturb(Bytes& input, ScoresExtents& n);
void disturb(Bytes& input, TokenExtents& n);

[[nodiscard]] inline std::int64_t clamped(std::int64_t count, std::int64_t most) {
  return std::clamp<std::int64_t>(count, 0, most);
}

// Finds data for the view so that it fits in the buffer. The data is rarely misaligned or null.
// Returns nullopt if there is no such place.
[[nodiscard]] std::optional<std::byte*> place(Bytes& input, std::span<std::byte> buffer,
                                              const Strided& view);

// Places several views. Usually each follows the views before it, so that no two overlap.
class Places {
 public:
  explicit Places(std::span<std::byte> buffer) : buffer_(buffer) {}
  [[nodiscard]] std::optional<std::byte*> place(Bytes& input, const Strided& view);

 private:
  std::span<std::byte> buffer_;
  std::size_t used_ = 0;  // bytes from the start
};

template <class View>
requires requires(View view) { view.strides.token; }
void set_strides(View& view, const Axes& axes) {
  view.strides.batch = axes[0];
  view.strides.token = axes[1];
  if constexpr (requires { view.strides.head; }) view.strides.head = axes[2];
  view.strides.feature = axes[3];
}

template <class View>
requires requires(View view) { view.strides.query; }
void set_strides(View& scores, const Axes& axes) {
  scores.strides = {.batch = axes[0], .head = axes[2], .query = axes[1], .key = axes[3]};
}

template <class View>
requires requires(View view) { view.row_stride; }
void set_strides(View& table, const Axes& axes) {
  table.row_stride = axes[1];
  table.feature_stride = axes[3];
}

// Finds a place for a view that has its strides. Returns false if there is none.
template <class View>
[[nodiscard]] bool place_view(Bytes& input, Places& places, View& view) {
  const auto data = places.place(input, strided(view));
  if (data) view.data = *data;
  return data.has_value();
}

// As above; decodes the strides first.
template <class View>
[[nodiscard]] bool decode_view(Bytes& input, Places& places, View& view,
                               Features features = Features::anywhere) {
  set_strides(view, decode_strides(input, strided(view).counts, features));
  return place_view(input, places, view);
}

// Adjacent numbers. Empty if the data is null or misaligned; nullopt if they do not fit.
template <class Number>
[[nodiscard]] std::optional<std::span<Number>> decode_array(Bytes& input, Places& places,
                                                            std::int64_t count) {
  const auto data = places.place(
      input,
      {.element_bytes = sizeof(Number), .counts = {1, 1, 1, count}, .strides = {0, 0, 0, 1}});
  if (!data) return {};
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(*data) % alignof(Number) == 0;
  if (*data == nullptr || !is_aligned) return std::span<Number>{};
  return std::span(reinterpret_cast<Number*>(*data), static_cast<std::size_t>(count));
}

}  // namespace rotary::fuzz
