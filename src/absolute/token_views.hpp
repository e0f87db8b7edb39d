// SPDX-License-Identifier: Apache-2.0
// Checks the views of absolute encodings before anything is written. Each error names the view.
#pragma once

#include <string>
#include <string_view>

#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/heads_views.hpp"

namespace rotary {

// Views the table's rows as the tokens of one batch row.
[[nodiscard]] TokensView tokens_view(const TableView& table) noexcept;
[[nodiscard]] ConstTokensView tokens_view(const ConstTableView& table) noexcept;

[[nodiscard]] std::string describe(const TokenExtents& n);

// A view's name in messages: "dst", or "lookups[1]: table" in two parts, joined on errors only.
struct ViewName {
  std::string_view name;
  std::string_view prefix = {};
};
[[nodiscard]] std::string to_text(const ViewName& name);

// Checks dtype, extents, span, pointer and alignment.
[[nodiscard]] Status check_view(const ViewName& name, const ConstTokensView& view);
[[nodiscard]] Status check_table(const ViewName& name, const ConstTableView& table);

// Checks that no two indices of a written view share an element. Requires a well-formed view.
[[nodiscard]] Status check_distinct(const ViewName& name, const ConstTokensView& view);

struct NamedView {
  ViewName name;
  ConstHeadsView view;  // from heads_view
};

// Checks that two views share no element. Requires well-formed views.
[[nodiscard]] Status check_apart(const NamedView& a, const NamedView& b);

// Checks dst and src of an operation on single tokens. Both must be well-formed, have the same
// dtype and extents, and be the same memory or share none. dst must have distinct elements.
[[nodiscard]] Status check_transfer(const ConstTokensView& dst, const ConstTokensView& src);

// Checks that gradient is a table of distinct f32 or f64 elements. upstream must have as many
// features, no wider dtype, and no overlap with gradient.
[[nodiscard]] Status check_gradient(const TableView& gradient, const ConstTokensView& upstream);

}  // namespace rotary
