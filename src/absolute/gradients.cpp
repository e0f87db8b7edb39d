// SPDX-License-Identifier: Apache-2.0
#include "absolute/gradients.hpp"

#include <cstddef>

#include "absolute/token_views.hpp"
#include "base/message.hpp"
#include "tensor/overlap.hpp"

namespace rotary {

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

void add_to_run(const double* values, const ElementRun& to) noexcept {
  RunValues sum;
  load_run({.data = to.data, .dtype = to.dtype, .stride = to.stride, .count = to.count},
           sum.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(to.count); ++i) sum[i] += values[i];
  store_run(sum.data(), to);
}

}  // namespace rotary
