// SPDX-License-Identifier: Apache-2.0
#include "absolute/token_views.hpp"

#include "base/message.hpp"
#include "tensor/overlap.hpp"
#include "tensor/view_checks.hpp"

namespace rotary {
namespace {

std::string describe(const TokenStrides& s) {
  return message("batch ", s.batch, ", token ", s.token, ", feature ", s.feature);
}

std::string describe(const ConstTokensView& view) {
  return message("extents ", describe(view.extents), " with strides ", describe(view.strides));
}

std::string describe(const ConstTableView& table) {
  return message(table.rows, " rows of ", table.features, " features with strides ",
                 table.row_stride, " and ", table.feature_stride);
}

// Requires a valid dtype and extents >= 0.
template <class View>
Status check_memory(const ViewName& name, const View& view) {
  const auto range = address_range(heads_view(view));
  if (!range) {
    return invalid_argument(name, ": the view must span less than 2^62 bytes, got ",
                            describe(view));
  }
  if (range->begin == range->end) return {};
  if (view.data == nullptr) {
    return invalid_argument(name, ": data must not be null, got null for ", describe(view));
  }
  return check_aligned(view.data, size_in_bytes(view.dtype), name,
                       ": data must be aligned to its element size");
}

template <class View, class Table>
View tokens_of(const Table& table) {
  return {.data = table.data,
          .dtype = table.dtype,
          .extents = {.batch = 1, .tokens = table.rows, .features = table.features},
          .strides = {.token = table.row_stride, .feature = table.feature_stride}};
}

}  // namespace

TokensView tokens_view(const TableView& table) noexcept { return tokens_of<TokensView>(table); }
ConstTokensView tokens_view(const ConstTableView& table) noexcept {
  return tokens_of<ConstTokensView>(table);
}

std::string to_text(const ViewName& name) { return message(name.prefix, name.name); }

std::string describe(const TokenExtents& n) {
  return message("batch ", n.batch, ", tokens ", n.tokens, ", features ", n.features);
}

Status check_view(const ViewName& name, const ConstTokensView& view) {
  if (auto status = check_dtype(name, view.dtype); !status) return status;
  const auto& n = view.extents;
  if (n.batch < 0 || n.tokens < 0 || n.features < 0) {
    return invalid_argument(name, ": extents must be >= 0, got ", describe(n));
  }
  return check_memory(name, view);
}

Status check_table(const ViewName& name, const ConstTableView& table) {
  if (auto status = check_dtype(name, table.dtype); !status) return status;
  if (table.rows < 0 || table.features < 0) {
    return invalid_argument(name, ": rows and features must be >= 0, got ", table.rows, " and ",
                            table.features);
  }
  return check_memory(name, table);
}

Status check_distinct(const ViewName& name, const ConstTokensView& view) {
  if (find_self_overlap(heads_view(view)) == Overlap::none) return {};
  return invalid_argument(name, ": elements of a destination must be distinct, got extents ",
                          describe(view.extents), " with strides ", describe(view.strides));
}

Status check_apart(const NamedView& a, const NamedView& b) {
  return check_overlap(find_overlap(a.view, b.view), a.name, b.name,
                       [] { return "views that cannot be told apart"; });
}

Status check_transfer(const ConstTokensView& dst, const ConstTokensView& src) {
  if (auto status = check_view({"dst"}, dst); !status) return status;
  if (auto status = check_distinct({"dst"}, dst); !status) return status;
  if (src == dst) return {};
  if (auto status = check_view({"src"}, src); !status) return status;
  if (dst.dtype != src.dtype) {
    return invalid_argument("dst and src must have the same dtype, got ", to_string(dst.dtype),
                            " and ", to_string(src.dtype));
  }
  if (dst.extents != src.extents) {
    return invalid_argument("dst and src must have the same extents, got ", describe(dst.extents),
                            " and ", describe(src.extents));
  }
  // Strides along extents of 1 mean nothing: views that differ only there are also in place.
  if (heads_view(dst) == heads_view(src)) return {};
  return check_apart({{"dst"}, heads_view(dst)}, {{"src"}, heads_view(src)});
}

Status check_gradient(const TableView& gradient, const ConstTokensView& upstream) {
  if (auto status = check_table({"gradient"}, gradient); !status) return status;
  if (auto status = check_distinct({"gradient"}, tokens_view(gradient)); !status) return status;
  if (auto status = check_view({"upstream"}, upstream); !status) return status;
  if (gradient.dtype != DType::f64 &&
      (gradient.dtype != DType::f32 || upstream.dtype == DType::f64)) {
    return invalid_argument("gradient must be f64, or f32 for an upstream that is not f64; got ",
                            to_string(gradient.dtype), " for ", to_string(upstream.dtype));
  }
  if (gradient.features != upstream.extents.features) {
    return invalid_argument("gradient must have the features of upstream, ",
                            upstream.extents.features, "; got ", gradient.features);
  }
  if (repeats_too_often(heads_view(upstream))) {
    return invalid_argument("upstream: elements that a stride of 0 repeats must be fewer than 2^36",
                            ", got extents ", describe(upstream.extents));
  }
  return check_apart({{"gradient"}, heads_view(gradient)}, {{"upstream"}, heads_view(upstream)});
}

}  // namespace rotary
