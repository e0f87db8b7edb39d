// SPDX-License-Identifier: Apache-2.0
// The requirements of absolute encodings on their views, checked before anything is written, with
// the checks of head views. Each error names the view.
#pragma once

#include <string>
#include <string_view>

#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"
#include "tensor/heads_views.hpp"

namespace rotary {

// One batch row whose tokens are the table's rows.
[[nodiscard]] TokensView tokens_view(const TableView& table) noexcept;
[[nodiscard]] ConstTokensView tokens_view(const ConstTableView& table) noexcept;

// The extents as messages show them.
[[nodiscard]] std::string describe(const TokenExtents& n);

// The name of a view in messages, "dst" or "lookups[1]: table", in two parts, so that successful
// calls need not join them.
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

// Checks dst and src of an operation on single tokens: both well-formed, with the same dtype and
// extents, in place or without overlap, and with distinct elements in dst.
[[nodiscard]] Status check_transfer(const ConstTokensView& dst, const ConstTokensView& src);

// Checks that gradient is a writable table of f32 or f64, that upstream has as many features and no
// wider dtype, and that the two do not overlap.
[[nodiscard]] Status check_gradient(const TableView& gradient, const ConstTokensView& upstream);

}  // namespace rotary
