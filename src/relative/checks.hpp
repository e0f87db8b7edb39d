// SPDX-License-Identifier: Apache-2.0
// Checks the views of operations on scores before anything is written. Each error names the view.
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

// A view and its name in messages. `memory` has the view's elements on four axes.
struct NamedView {
  std::string_view name;
  ConstHeadsView memory;
  std::variant<ConstScoresView, ConstHeadsView, ConstTableView> view;

  [[nodiscard]] std::string shape() const;  // for messages
};

[[nodiscard]] NamedView named(std::string_view name, const ConstScoresView& view);
[[nodiscard]] NamedView named(std::string_view name, const ConstHeadsView& view);
[[nodiscard]] NamedView named(std::string_view name, const ConstTableView& view);
[[nodiscard]] NamedView named(std::string_view name, std::span<double> values);

// Checks that the dtype is known, no extent is negative, the memory fits the address space and data
// is aligned.
[[nodiscard]] Status check_memory(const NamedView& view);

// As check_memory(), and checks that no two indices name the same element.
[[nodiscard]] Status check_destination(const NamedView& view);

// Calls check_destination() and check_memory(source), and checks that the views share no element.
[[nodiscard]] Status check_apart(const NamedView& destination, const NamedView& source);

// Checks that scores and heads of one call have the same batch, queries and heads.
[[nodiscard]] Status check_same_rows(std::string_view name, const ConstScoresView& scores,
                                     const ConstHeadsView& heads);

// Returns the view with unused strides set to 0: the strides of axes of length 1, or all strides of
// an empty view. Offsets then fit int64, even one step past the last element. Requires a checked
// view.
using rotary::with_used_strides;
[[nodiscard]] ScoresView with_used_strides(ScoresView view) noexcept;
[[nodiscard]] ConstScoresView with_used_strides(ConstScoresView view) noexcept;
[[nodiscard]] ConstTableView with_used_strides(ConstTableView view) noexcept;

[[nodiscard]] inline bool is_empty(const ScoresExtents& n) noexcept {
  return n.batch == 0 || n.heads == 0 || n.queries == 0 || n.keys == 0;
}

// Largest magnitude of a learned number. No sum in the formulas then overflows a double.
inline constexpr double largest_parameter = 0x1p256;

[[nodiscard]] inline std::size_t to_size(std::int64_t count) noexcept {
  return static_cast<std::size_t>(count);
}

}  // namespace rotary::relative
