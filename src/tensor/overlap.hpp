// SPDX-License-Identifier: Apache-2.0
// Finds whether two strided views share an element. Interleaved slices of one buffer (q and k of a
// fused QKV) do not.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/tensor_view.hpp"

namespace rotary {

// A view of elements of any size. strides: in elements.
struct ElementsView {
  const void* data = nullptr;
  std::int64_t element_bytes = 1;
  Extents extents = {};
  Strides strides = {};
};

[[nodiscard]] inline ElementsView elements_of(const ConstHeadsView& view) noexcept {
  return {view.data, size_in_bytes(view.dtype), view.extents, view.strides};
}

// The bytes of a view, from its lowest to one past its highest; empty without elements.
struct AddressRange {
  std::int64_t begin = 0;  // relative to the view's data pointer
  std::int64_t end = 0;
};

// Nothing if the range exceeds ±2^62, which no real view does. Requires extents >= 0.
[[nodiscard]] std::optional<AddressRange> address_range(const ConstHeadsView& view) noexcept;

[[nodiscard]] std::optional<AddressRange> address_range(const ElementsView& view) noexcept;

// True if strides of 0 repeat elements and the view has 2^36 elements or more; reading them would
// take minutes. Requires extents >= 0 and strides of 0 along extents of 1.
[[nodiscard]] bool repeats_too_often(const ConstHeadsView& view) noexcept;

enum class Overlap { none, shared, undecided };

// Never `undecided` if each view's strides nest (each is at least the span of the smaller ones).
// Rarely `undecided` otherwise. Requires views with an address_range(), and strides of 0 along
// extents of 1 (without_unused_strides).
[[nodiscard]] Overlap find_overlap(const ConstHeadsView& a, const ConstHeadsView& b) noexcept;

[[nodiscard]] Overlap find_overlap(const ElementsView& a, const ElementsView& b) noexcept;

// Whether two different indices of the view name one element. Requires what find_overlap() does.
[[nodiscard]] Overlap find_self_overlap(const ConstHeadsView& view) noexcept;

}  // namespace rotary
