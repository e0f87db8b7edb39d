// SPDX-License-Identifier: Apache-2.0
// A check of a few nanoseconds that accepts the views of nearly every call: they have adjacent
// features, nested strides and sizes far from any limit. view_checks.hpp decides about other views.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/overlap.hpp"

namespace rotary {

// Addresses of a view's first byte and of the byte after its last.
struct ByteSpan {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

[[nodiscard]] inline bool share_no_byte(const ByteSpan& a, const ByteSpan& b) noexcept {
  return a.end <= b.begin || b.end <= a.begin;
}

// Number of elements from a view's first to its last. Nothing unless features are adjacent and each
// other stride is at least the reach of all smaller ones, which makes elements distinct.
[[nodiscard]] inline std::optional<std::int64_t> plain_reach(const Extents& n,
                                                             const Strides& s) noexcept {
  // Keeps products of two numbers below 2^56, and bytes below 2^62.
  constexpr auto limit = std::uint64_t{1} << 28;
  const auto any = static_cast<std::uint64_t>(n.batch | n.tokens | n.heads | n.features | s.batch |
                                              s.token | s.head);
  const bool has_elements = n.batch > 0 && n.tokens > 0 && n.heads > 0 && n.features > 0;
  if (any >= limit || !has_elements || s.feature != 1) return std::nullopt;
  std::int64_t reach = n.features;
  const auto steps_over = [&reach](std::int64_t count, std::int64_t stride) {
    const bool nests = count == 1 || stride >= reach;
    reach += (count - 1) * stride;
    return nests;
  };
  const bool nest = s.head <= s.token || n.tokens == 1
                        ? steps_over(n.heads, s.head) && steps_over(n.tokens, s.token)
                        : steps_over(n.tokens, s.token) && steps_over(n.heads, s.head);
  return nest && steps_over(n.batch, s.batch) ? std::optional(reach) : std::nullopt;
}

// The bytes of a view that surely passes check_view(), check_adjacent_features() and
// check_distinct(). Nothing for other views.
[[nodiscard]] inline std::optional<ByteSpan> plain_span(const ElementsView& view) noexcept {
  const auto size = static_cast<std::uint64_t>(view.element_bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
  if (size == 0 || begin == 0 || (begin & (size - 1)) != 0) return std::nullopt;
  const auto reach = plain_reach(view.extents, view.strides);
  if (!reach) return std::nullopt;
  return ByteSpan{.begin = begin, .end = begin + static_cast<std::uint64_t>(*reach) * size};
}

// plain_span() of a view that also fits the rotations.
[[nodiscard]] inline std::optional<ByteSpan> plain_span(const ConstHeadsView& view,
                                                        const Rotations& rotations) noexcept {
  const auto& n = view.extents;
  const bool wants_f64 = view.dtype == DType::f64;
  const bool has_rows = wants_f64 == (rotations.row_dtype() == RowDType::f64) &&
                        (!rotations.tensors() || *rotations.tensors() == view.dtype);
  const bool has_shape = n.features == rotations.window().head_dim &&
                         n.tokens == rotations.tokens() &&
                         (rotations.batch() == 1 || rotations.batch() == n.batch);
  if (!has_rows || !has_shape) return std::nullopt;
  return plain_span(elements_of(view));
}

}  // namespace rotary
