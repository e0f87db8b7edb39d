// SPDX-License-Identifier: Apache-2.0
// Requirements of operations on scores on their views, checked before anything is written. Each
// check names the view it speaks of.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/view_checks.hpp"

namespace rotary::relative {

// A view of any kind, and the same as four axes.
struct NamedView {
  std::string_view name;
  ConstHeadsView memory;
  std::variant<ConstScoresView, ConstHeadsView, ConstTableView> view;

  [[nodiscard]] std::string shape() const;  // as messages show it
};

[[nodiscard]] NamedView named(std::string_view name, const ConstScoresView& view);
[[nodiscard]] NamedView named(std::string_view name, const ConstHeadsView& view);
[[nodiscard]] NamedView named(std::string_view name, const ConstTableView& view);
[[nodiscard]] NamedView named(std::string_view name, std::span<double> values);

// A known dtype, extents of 0 or more, a span that fits the address space, aligned memory.
[[nodiscard]] Status check_memory(const NamedView& view);

// The same, and no two indices name one element.
[[nodiscard]] Status check_destination(const NamedView& view);

// check_memory of source, check_destination of destination, no element in common.
[[nodiscard]] Status check_apart(const NamedView& destination, const NamedView& source);

// Scores and heads of one call: batch, queries, heads agree.
[[nodiscard]] Status check_same_rows(std::string_view name, const ConstScoresView& scores,
                                     const ConstHeadsView& heads);

// The same elements by strides that mean something alone: those of single indices, and all of a
// view without elements, are 0. A sum of strides, one step beyond the last element included, then
// stays within int64. Each requires a view that has been checked.
using rotary::with_used_strides;
[[nodiscard]] ScoresView with_used_strides(ScoresView view) noexcept;
[[nodiscard]] ConstScoresView with_used_strides(ConstScoresView view) noexcept;
[[nodiscard]] ConstTableView with_used_strides(ConstTableView view) noexcept;

[[nodiscard]] inline bool is_empty(const ScoresExtents& n) noexcept {
  return n.batch == 0 || n.heads == 0 || n.queries == 0 || n.keys == 0;
}

// The largest magnitude of a learned number: no sum of the formulas leaves double.
inline constexpr double largest_parameter = 0x1p256;

[[nodiscard]] inline std::size_t to_size(std::int64_t count) noexcept {
  return static_cast<std::size_t>(count);
}

}  // namespace rotary::relative
