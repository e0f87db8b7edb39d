// SPDX-License-Identifier: Apache-2.0
// Checks of views. Each error names the view.
#pragma once

#include <string>
#include <string_view>

#include "base/message.hpp"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/overlap.hpp"

namespace rotary {

// Formats extents and strides for messages.
[[nodiscard]] std::string describe(const Extents& n);
[[nodiscard]] std::string describe(const Strides& s);

[[nodiscard]] inline bool has_elements(const Extents& n) noexcept {
  return n.batch > 0 && n.tokens > 0 && n.heads > 0 && n.features > 0;
}

// Sets strides to 0 along extents of 1, where strides have no effect.
template <class View>
[[nodiscard]] View without_unused_strides(View view) noexcept {
  if (view.extents.batch <= 1) view.strides.batch = 0;
  if (view.extents.tokens <= 1) view.strides.token = 0;
  if (view.extents.heads <= 1) view.strides.head = 0;
  if (view.extents.features <= 1) view.strides.feature = 0;
  return view;
}

// As without_unused_strides(), but all strides of a view without elements become 0: its data may be
// null, and only 0 may be added to null.
template <class View>
[[nodiscard]] View with_used_strides(View view) noexcept {
  if (!has_elements(view.extents)) view.strides = {};
  return without_unused_strides(view);
}

// Checks that dtype is f32, bf16, f16 or f64.
template <class Name>
[[nodiscard]] Status check_dtype(const Name& name, DType dtype) {
  if (size_in_bytes(dtype) != 0) return {};
  return invalid_argument(name, ": dtype must be f32, bf16, f16 or f64, got value ",
                          static_cast<std::int32_t>(dtype));
}

// Checks that the address is a multiple of `bytes`. requirement: the start of the message.
template <class... Parts>
[[nodiscard]] Status check_aligned(const void* data, std::int64_t bytes,
                                   const Parts&... requirement) {
  const auto off = reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes);
  if (off == 0) return {};
  return invalid_argument(requirement..., ", ", bytes, " bytes; got an address ", off,
                          " bytes off");
}

// Refuses all but Overlap::none. strides() returns the strides of both views as text.
template <class Name, class Strides>
[[nodiscard]] Status check_overlap(Overlap overlap, const Name& name_a, const Name& name_b,
                                   const Strides& strides) {
  if (overlap == Overlap::none) return {};
  if (overlap == Overlap::shared)
    return invalid_argument(name_a, " and ", name_b,
                            " must share no element, got views that overlap");
  return invalid_argument(name_a, " and ", name_b,
                          " must be views whose strides nest when they lie in one buffer, got ",
                          strides());
}

// Checks that extents are at least 0.
[[nodiscard]] Status check_extents(std::string_view name, const Extents& n);

// Checks for a span below 2^62 bytes and, if there are elements, aligned data that is not null.
[[nodiscard]] Status check_memory(std::string_view name, const ConstHeadsView& view);

// Does check_dtype(), check_extents() and check_memory().
[[nodiscard]] Status check_view(std::string_view name, const ConstHeadsView& view);

// Checks that the feature stride is 1, unless there are fewer than two features.
[[nodiscard]] Status check_adjacent_features(std::string_view name, const ConstHeadsView& view);

// Checks that no two indices of a written view share an element.
[[nodiscard]] Status check_distinct(std::string_view name, const ConstHeadsView& view);

// Checks that two views share no element.
[[nodiscard]] Status check_apart(std::string_view name_a, const ConstHeadsView& a,
                                 std::string_view name_b, const ConstHeadsView& b);
[[nodiscard]] Status check_apart(std::string_view name_a, const ElementsView& a,
                                 std::string_view name_b, const ElementsView& b);

}  // namespace rotary
