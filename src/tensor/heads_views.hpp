// SPDX-License-Identifier: Apache-2.0
// Converts other views to views of heads, so that the checks of heads apply to them. Strides along
// extents of 1, which are unused, become 0.
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

// Views the tokens as one head.
[[nodiscard]] inline ConstHeadsView heads_view(const ConstTokensView& view) noexcept {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  return without_unused_strides(
      ConstHeadsView{.data = view.data,
                     .dtype = view.dtype,
                     .extents = {n.batch, n.tokens, 1, n.features},
                     .strides = {.batch = s.batch, .token = s.token, .feature = s.feature}});
}

// Views the table's rows as tokens of one batch row with one head.
[[nodiscard]] inline ConstHeadsView heads_view(const ConstTableView& table) noexcept {
  return without_unused_strides(
      ConstHeadsView{.data = table.data,
                     .dtype = table.dtype,
                     .extents = {1, table.rows, 1, table.features},
                     .strides = {.token = table.row_stride, .feature = table.feature_stride}});
}

// Queries become tokens, keys become features.
[[nodiscard]] inline ConstHeadsView heads_view(const ConstScoresView& view) noexcept {
  const auto& [n, s] = std::pair(view.extents, view.strides);
  return without_unused_strides(ConstHeadsView{.data = view.data,
                                               .dtype = view.dtype,
                                               .extents = {n.batch, n.queries, n.heads, n.keys},
                                               .strides = {s.batch, s.query, s.head, s.key}});
}

// Views numbers as one head of one token.
template <class Number>
[[nodiscard]] ConstHeadsView heads_view(std::span<Number> numbers) noexcept {
  using Value = std::remove_const_t<Number>;
  static_assert(std::is_same_v<Value, float> || std::is_same_v<Value, double>);
  return {.data = numbers.data(),
          .dtype = std::is_same_v<Value, float> ? DType::f32 : DType::f64,
          .extents = {1, 1, 1, static_cast<std::int64_t>(numbers.size())},
          .strides = {}};
}

// Views memory as floats, which suffices to find overlaps, although numbers may have 8 bytes.
[[nodiscard]] inline ConstHeadsView heads_view(std::span<const std::byte> memory) noexcept {
  return heads_view(
      std::span(reinterpret_cast<const float*>(memory.data()), memory.size() / sizeof(float)));
}

// Axes become heads of one feature. The dtype has the size of the numbers, whatever their type.
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

// Views the memory of positions or slots; empty for consecutive ones, which have none.
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
