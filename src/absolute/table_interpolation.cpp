// SPDX-License-Identifier: Apache-2.0
#include "rotary/table_interpolation.hpp"

#include <algorithm>
#include <cstddef>

#include "absolute/gradients.hpp"
#include "absolute/interpolation_taps.hpp"
#include "absolute/token_views.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "tensor/element_runs.hpp"

namespace rotary {
namespace {

Status check_tables(const TableView& dst, const ConstTableView& src) {
  if (auto status = check_table({"dst"}, dst); !status) return status;
  if (auto status = check_distinct({"dst"}, tokens_view(dst)); !status) return status;
  if (auto status = check_table({"src"}, src); !status) return status;
  if (dst.dtype != src.dtype) {
    return invalid_argument("dst and src must have the same dtype, got ", to_string(dst.dtype),
                            " and ", to_string(src.dtype));
  }
  if (dst.features != src.features) {
    return invalid_argument("dst and src must have the same features, got ", dst.features, " and ",
                            src.features);
  }
  return check_apart({{"dst"}, heads_view(dst)}, {{"src"}, heads_view(src)});
}

// The first tap begins the sum, so that a row copied alone keeps its bits, -0 included.
void make_row(const TableView& dst, const ConstTableView& src, std::int64_t row, const Taps& taps) {
  RunValues sum;
  RunValues read;
  for (std::int64_t f = 0; f < dst.features; f += run_features) {
    const std::int64_t count = std::min(run_features, dst.features - f);
    for (std::size_t k = 0; k < taps.count; ++k) {
      const auto& [from, weight] = taps.taps[k];
      load_run(run_of(tokens_view(src), 0, from, f, count), read.data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const double share = weight * read[i];
        sum[i] = k == 0 ? share : sum[i] + share;
      }
    }
    store_run(sum.data(), run_of(tokens_view(dst), 0, row, f, count));
  }
}

}  // namespace

Status interpolate_table(TableView dst, ConstTableView src,
                         const TableInterpolation& interpolation) noexcept {
  return guarded([&]() -> Status {
    if (auto status = check_tables(dst, src); !status) return status;
    const TableRowCounts rows{.from = src.rows, .to = dst.rows};
    if (auto status = check_rows(interpolation, rows); !status) return status;
    if (dst.features == 0) return {};
    for (std::int64_t row = 0; row < dst.rows; ++row) {
      make_row(dst, src, row, taps_of(interpolation, rows, row));
    }
    return {};
  });
}

Status add_interpolation_gradient(TableView gradient, ConstTableView upstream,
                                  const TableInterpolation& interpolation) noexcept {
  return guarded([&]() -> Status {
    if (auto status = check_gradient(gradient, tokens_view(upstream)); !status) return status;
    const TableRowCounts rows{.from = gradient.rows, .to = upstream.rows};
    if (auto status = check_rows(interpolation, rows); !status) return status;
    if (upstream.features == 0) return {};
    for (std::int64_t row = 0; row < upstream.rows; ++row) {
      const Taps taps = taps_of(interpolation, rows, row);
      for (std::int64_t f = 0; f < upstream.features; f += run_features) {
        const std::int64_t count = std::min(run_features, upstream.features - f);
        RunValues read;
        RunValues more;
        load_run(run_of(tokens_view(upstream), 0, row, f, count), read.data());
        for (std::size_t k = 0; k < taps.count; ++k) {
          for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            more[i] = taps.taps[k].weight * read[i];
          }
          add_to_run(more.data(), run_of(tokens_view(gradient), 0, taps.taps[k].row, f, count));
        }
      }
    }
    return {};
  });
}

}  // namespace rotary
