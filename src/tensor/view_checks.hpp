// SPDX-License-Identifier: Apache-2.0
// What every function asks of views before it writes anything. Each check names the view it speaks
// of.
#pragma once

#include <string>
#include <string_view>

#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// As messages show them.
[[nodiscard]] std::string describe(const Extents& n);
[[nodiscard]] std::string describe(const Strides& s);

[[nodiscard]] inline bool has_elements(const Extents& n) noexcept {
  return n.batch > 0 && n.tokens > 0 && n.heads > 0 && n.features > 0;
}

// The view with the strides of single indices, which mean nothing, set to 0.
template <class View>
[[nodiscard]] View without_unused_strides(View view) noexcept {
  if (view.extents.batch <= 1) view.strides.batch = 0;
  if (view.extents.tokens <= 1) view.strides.token = 0;
  if (view.extents.heads <= 1) view.strides.head = 0;
  if (view.extents.features <= 1) view.strides.feature = 0;
  return view;
}

// The same, and a view without elements has no strides at all: its data may be null, to which
// nothing but 0 can be added.
template <class View>
[[nodiscard]] View with_used_strides(View view) noexcept {
  if (!has_elements(view.extents)) view.strides = {};
  return without_unused_strides(view);
}

// f32, bf16, f16 or f64.
[[nodiscard]] Status check_dtype(std::string_view name, DType dtype);

// Extents of at least 0.
[[nodiscard]] Status check_extents(std::string_view name, const Extents& n);

// Data that can be: less than 2^62 bytes, and where there are elements not null, and aligned.
[[nodiscard]] Status check_memory(std::string_view name, const ConstHeadsView& view);

// All three.
[[nodiscard]] Status check_view(std::string_view name, const ConstHeadsView& view);

// A feature stride of 1, unless there are fewer than two.
[[nodiscard]] Status check_adjacent_features(std::string_view name, const ConstHeadsView& view);

// Elements of a view that is written are distinct.
[[nodiscard]] Status check_distinct(std::string_view name, const ConstHeadsView& view);

// Two views share no element.
[[nodiscard]] Status check_apart(std::string_view name_a, const ConstHeadsView& a,
                                 std::string_view name_b, const ConstHeadsView& b);

}  // namespace rotary
