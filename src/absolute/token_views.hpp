// SPDX-License-Identifier: Apache-2.0
// What absolute encodings ask of their views before they write anything, by the checks of views of
// heads. Each check names the view it speaks of.
#pragma once

#include <string>
#include <string_view>

#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary {

// As views of one head, strides of single indices, which mean nothing, set to 0. A table is one
// batch row whose tokens are the table's rows.
[[nodiscard]] ConstHeadsView heads_view(const ConstTokensView& view) noexcept;
[[nodiscard]] ConstHeadsView heads_view(const ConstTableView& table) noexcept;
[[nodiscard]] TokensView tokens_view(const TableView& table) noexcept;
[[nodiscard]] ConstTokensView tokens_view(const ConstTableView& table) noexcept;

// As messages show them.
[[nodiscard]] std::string describe(const TokenExtents& n);

// What messages call a view, "dst" or "lookups[1]: table": in two parts, so that a call that
// succeeds puts none together.
struct ViewName {
  std::string_view name;
  std::string_view prefix = {};
};
[[nodiscard]] std::string to_text(const ViewName& name);

// Well-formed: dtype, extents, span, pointer, alignment.
[[nodiscard]] Status check_view(const ViewName& name, const ConstTokensView& view);
[[nodiscard]] Status check_table(const ViewName& name, const ConstTableView& table);

// Elements of a view that is written are distinct. Requires a well-formed view.
[[nodiscard]] Status check_distinct(const ViewName& name, const ConstTokensView& view);

struct NamedView {
  ViewName name;
  ConstHeadsView view;  // from heads_view
};

// Two views share no element. Requires well-formed views.
[[nodiscard]] Status check_apart(const NamedView& a, const NamedView& b);

// dst and src of an operation that works token by token: both well-formed, of one dtype and the
// same extents, in place or apart, elements of dst distinct.
[[nodiscard]] Status check_transfer(const ConstTokensView& dst, const ConstTokensView& src);

}  // namespace rotary
