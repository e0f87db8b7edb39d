// SPDX-License-Identifier: Apache-2.0
// Do two strided views share an element? Decided on addresses alone, so interleaved slices of one
// buffer (q and k of a fused QKV) are told from views that really overlap.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/tensor_view.hpp"

namespace rotary {

// The bytes that a view spans, from its lowest to one past its highest. Empty views span nothing.
struct AddressRange {
  std::int64_t begin = 0;  // relative to the view's data pointer
  std::int64_t end = 0;
};

// Nothing when the range leaves the 62-bit range (a view of an impossible size). Requires extents
// >= 0.
[[nodiscard]] std::optional<AddressRange> address_range(const ConstHeadsView& view) noexcept;

// True where strides of 0 make 2^36 elements or more of those in memory. A call that reads them all
// and writes little would take minutes. Requires extents >= 0 and no stride on a single index.
[[nodiscard]] bool repeats_too_often(const ConstHeadsView& view) noexcept;

enum class Overlap { none, shared, undecided };

// Exact whenever each view's strides nest (a stride is no smaller than what the smaller ones span),
// and in most other cases; undecided after a bounded search. Requires views that have a range and
// no stride on a single index (without_unused_strides).
[[nodiscard]] Overlap find_overlap(const ConstHeadsView& a, const ConstHeadsView& b) noexcept;

// Elements of a size that no DType has; strides in elements.
struct ElementsView {
  const void* data = nullptr;
  std::int64_t element_bytes = 1;
  Extents extents = {};
  Strides strides = {};
};

// The same of any elements.
[[nodiscard]] Overlap find_overlap(const ElementsView& a, const ElementsView& b) noexcept;

// Whether two different indices of the view name the same element. Requires what find_overlap does.
[[nodiscard]] Overlap find_self_overlap(const ConstHeadsView& view) noexcept;

}  // namespace rotary
