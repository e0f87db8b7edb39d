// SPDX-License-Identifier: Apache-2.0
// Finds whether two strided views share an element. Compares addresses, so it tells interleaved
// slices of one buffer (q and k of a fused QKV) from views that really overlap.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/tensor_view.hpp"

namespace rotary {

// A view of elements whose size need not be a DType's; strides count elements.
struct ElementsView {
  const void* data = nullptr;
  std::int64_t element_bytes = 1;
  Extents extents = {};
  Strides strides = {};
};

[[nodiscard]] inline ElementsView elements_of(const ConstHeadsView& view) noexcept {
  return {view.data, size_in_bytes(view.dtype), view.extents, view.strides};
}

// The bytes of a view, from its lowest to one past its highest. Empty for a view without elements.
struct AddressRange {
  std::int64_t begin = 0;  // relative to the view's data pointer
  std::int64_t end = 0;
};

// Returns nothing if the range exceeds ±2^62, which no real view does. Requires extents >= 0.
[[nodiscard]] std::optional<AddressRange> address_range(const ConstHeadsView& view) noexcept;

[[nodiscard]] std::optional<AddressRange> address_range(const ElementsView& view) noexcept;

// True if strides of 0 make the view claim 2^36 elements or more. Reading them all would take
// minutes, however little is written. Requires extents >= 0 and strides of 0 along extents of 1.
[[nodiscard]] bool repeats_too_often(const ConstHeadsView& view) noexcept;

enum class Overlap { none, shared, undecided };

// Exact if each view's strides nest (each is at least the span of the smaller ones), and in most
// other cases. `undecided` after a bounded search. Requires views that have a range, and strides of
// 0 along extents of 1 (without_unused_strides).
[[nodiscard]] Overlap find_overlap(const ConstHeadsView& a, const ConstHeadsView& b) noexcept;

[[nodiscard]] Overlap find_overlap(const ElementsView& a, const ElementsView& b) noexcept;

// Tells if two different indices of the view name one element. Requires what find_overlap() does.
[[nodiscard]] Overlap find_self_overlap(const ConstHeadsView& view) noexcept;

}  // namespace rotary
