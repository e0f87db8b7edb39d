// SPDX-License-Identifier: Apache-2.0
// What rotate() asks of its views before it writes anything. Each check names the view it speaks
// of.
#pragma once

#include <string>
#include <string_view>

#include "rotary/result.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// As messages show them.
[[nodiscard]] std::string describe(const Extents& n);
[[nodiscard]] std::string describe(const Strides& s);

// The view with the strides of single indices, which mean nothing, set to 0.
template <class View>
[[nodiscard]] View without_unused_strides(View view) noexcept {
  if (view.extents.batch <= 1) view.strides.batch = 0;
  if (view.extents.tokens <= 1) view.strides.token = 0;
  if (view.extents.heads <= 1) view.strides.head = 0;
  return view;
}

// The view is well-formed and fits the rotations.
[[nodiscard]] Status check_view(std::string_view name, const ConstHeadsView& view,
                                const Rotations& rotations);

// Elements of a view that is written are distinct.
[[nodiscard]] Status check_distinct(std::string_view name, const ConstHeadsView& view);

// Two views share no element.
[[nodiscard]] Status check_apart(std::string_view name_a, const ConstHeadsView& a,
                                 std::string_view name_b, const ConstHeadsView& b);

}  // namespace rotary
