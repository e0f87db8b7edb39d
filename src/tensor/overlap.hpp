// SPDX-License-Identifier: Apache-2.0
// Finds whether two strided views share an element. Only addresses decide, so interleaved slices of
// one buffer (q and k of a fused QKV) are told apart from views that really overlap.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/tensor_view.hpp"

namespace rotary {

// A view of elements of a size that no DType has; strides count elements.
struct ElementsView {
  const void* data = nullptr;
  std::int64_t element_bytes = 1;
  Extents extents = {};
  Strides strides = {};
};

[[nodiscard]] inline ElementsView elements_of(const ConstHeadsView& view) noexcept {
  return {view.data, size_in_bytes(view.dtype), view.extents, view.strides};
}

// The bytes of a view, from its lowest to one past its highest. Empty views have none.
struct AddressRange {
  std::int64_t begin = 0;  // relative to the view's data pointer
  std::int64_t end = 0;
};

// Nothing if the range exceeds ±2^62 (a view of an impossible size). Requires extents >= 0.
[[nodiscard]] std::optional<AddressRange> address_range(const ConstHeadsView& view) noexcept;

[[nodiscard]] std::optional<AddressRange> address_range(const ElementsView& view) noexcept;

// Whether strides of 0 turn the view's memory into 2^36 elements or more. A call that reads them
// all and writes little would take minutes. Requires extents >= 0 and strides of 0 along extents of
// 1.
[[nodiscard]] bool repeats_too_often(const ConstHeadsView& view) noexcept;

enum class Overlap { none, shared, undecided };

// Exact if each view's strides nest (a stride is no smaller than what the smaller ones span), and
// in most other cases; undecided after a bounded search. Requires views that have a range and
// strides of 0 along extents of 1 (without_unused_strides).
[[nodiscard]] Overlap find_overlap(const ConstHeadsView& a, const ConstHeadsView& b) noexcept;

// As above for elements of any size.
[[nodiscard]] Overlap find_overlap(const ElementsView& a, const ElementsView& b) noexcept;

// Whether two different indices of the view name the same element. Same requirements as
// find_overlap().
[[nodiscard]] Overlap find_self_overlap(const ConstHeadsView& view) noexcept;

}  // namespace rotary
