// SPDX-License-Identifier: Apache-2.0
// Decodes dtypes, strides and addresses of views, usually like those of plausible callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fuzz/bytes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// Rarely returns a value that is no enumerator.
[[nodiscard]] DType decode_dtype(Bytes& input);

// A window for a head of this many features, at least 2.
[[nodiscard]] HeadWindow decode_window(Bytes& input, std::int64_t head_dim);

// Axes in any order, each stepping over those inside it, with gaps and backwards. These strides
// nest unless a gap is negative. adjacent: features are innermost with a stride of 1.
enum class Features { anywhere, adjacent };
[[nodiscard]] Axes decode_ordered_strides(Bytes& input, const Axes& counts, Features features);

// Strides of this kind; one time in 16, any strides.
[[nodiscard]] Axes decode_strides(Bytes& input, const Axes& counts, Features features);

// Any strides: all small, or each any int64.
[[nodiscard]] Axes decode_small_strides(Bytes& input);
[[nodiscard]] Axes decode_wild_strides(Bytes& input);

// One time in 16 makes an extent 0. Less often makes it too small or large by one, or any int64.
void disturb(Bytes& input, std::span<std::int64_t* const> extents);

// Finds data for the view so that it fits in the buffer. The data is rarely misaligned or null.
// Returns nullopt if there is no such place.
[[nodiscard]] std::optional<std::byte*> place(Bytes& input, std::span<std::byte> buffer,
                                              const Strided& view);

// As above, for several views. Usually each follows those before it, so that they share nothing.
class Places {
 public:
  explicit Places(std::span<std::byte> buffer) : buffer_(buffer) {}
  [[nodiscard]] std::optional<std::byte*> place(Bytes& input, const Strided& view);

 private:
  std::span<std::byte> buffer_;
  std::size_t used_ = 0;  // bytes from the start
};

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
