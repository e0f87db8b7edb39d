// SPDX-License-Identifier: Apache-2.0
// Turns other views into views of heads, so that memory is checked in one place. Strides along
// extents of 1 are never used and become 0.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "rotary/positions.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {

// One head.
[[nodiscard]] inline ConstHeadsView heads_view(const ConstTokensView& view) noexcept {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  return without_unused_strides(
      ConstHeadsView{.data = view.data,
                     .dtype = view.dtype,
                     .extents = {n.batch, n.tokens, 1, n.features},
                     .strides = {.batch = s.batch, .token = s.token, .feature = s.feature}});
}

// One batch row and one head; the tokens are the table's rows.
[[nodiscard]] inline ConstHeadsView heads_view(const ConstTableView& table) noexcept {
  return without_unused_strides(
      ConstHeadsView{.data = table.data,
                     .dtype = table.dtype,
                     .extents = {1, table.rows, 1, table.features},
                     .strides = {.token = table.row_stride, .feature = table.feature_stride}});
}

// The tokens are queries, the features keys.
[[nodiscard]] inline ConstHeadsView heads_view(const ConstScoresView& view) noexcept {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  return without_unused_strides(ConstHeadsView{.data = view.data,
                                               .dtype = view.dtype,
                                               .extents = {n.batch, n.queries, n.heads, n.keys},
                                               .strides = {s.batch, s.query, s.head, s.key}});
}

// One row of numbers.
template <class Number>
[[nodiscard]] ConstHeadsView heads_view(std::span<Number> numbers) noexcept {
  using Value = std::remove_const_t<Number>;
  static_assert(std::is_same_v<Value, float> || std::is_same_v<Value, double>);
  return {.data = numbers.data(),
          .dtype = std::is_same_v<Value, float> ? DType::f32 : DType::f64,
          .extents = {1, 1, 1, static_cast<std::int64_t>(numbers.size())},
          .strides = {}};
}

// Memory of numbers of four bytes or more, as floats.
[[nodiscard]] inline ConstHeadsView heads_view(std::span<const std::byte> memory) noexcept {
  return heads_view(
      std::span(reinterpret_cast<const float*>(memory.data()), memory.size() / sizeof(float)));
}

// A head of one feature for each axis, of a type of the numbers' size.
template <class Number>
[[nodiscard]] ConstHeadsView heads_view(const TokenArray<Number>& array) noexcept {
  static_assert(sizeof(Number) == 4 || sizeof(Number) == 8);
  return without_unused_strides(ConstHeadsView{
      .data = array.data,
      .dtype = sizeof(Number) == 4 ? DType::f32 : DType::f64,
      .extents = {array.batch, array.tokens, array.axes, 1},
      .strides = {
          .batch = array.batch_stride, .token = array.token_stride, .head = array.axis_stride}});
}

// The memory of positions or slots as a view; empty for consecutive ones, which have no memory.
template <class... Kinds>
[[nodiscard]] ConstHeadsView heads_view(const std::variant<Kinds...>& numbers) noexcept {
  return std::visit(
      [](const auto& each) -> ConstHeadsView {
        if constexpr (requires { each.data; }) return heads_view(each);
        return {};
      },
      numbers);
}

}  // namespace rotary
