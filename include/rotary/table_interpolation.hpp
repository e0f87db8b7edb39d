// SPDX-License-Identifier: Apache-2.0
// Adapts a learned table to another length or grid than it was trained for, as vision transformers
// do with images of another size.
//
//   interpolate_table(table_of_1024, table_of_512, LinearInterpolation{});
#pragma once

#include <cstdint>
#include <variant>

#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary {

// Makes n rows from m rows: row i is read at x = (i + 1/2) m/n - 1/2, at least 0, between its two
// neighbours. torch's interpolate(mode="linear", align_corners=False).
struct LinearInterpolation {
  std::int64_t kept_rows = 0;  // at the start of both tables, copied unchanged: class tokens
};

// Row r, column c of the grid is table row r*columns + c.
struct TableGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// The same along both axes of a grid, without the limit at 0, from the 4 x 4 neighbours; a
// neighbour beyond the border is the border's row. Weighted by Keys's cubic convolution with a =
// -3/4. torch's interpolate(size=…, mode="bicubic", align_corners=False, antialias=False): ViT,
// DeiT.
struct BicubicInterpolation {
  std::int64_t kept_rows = 0;
  TableGrid from;
  TableGrid to;
  // Added, in double, to the sides n of `to`, for the coordinates only: DINO and DINOv2 have 0.1,
  // by scale_factor=(n + 0.1)/m. In [0, 1); unless it is 0, sides are at most 2^26.
  double size_offset = 0;
};

using TableInterpolation = std::variant<LinearInterpolation, BicubicInterpolation>;

// Computes dst from src, which have the same dtype and features, and the rows that the
// interpolation says; rows and sides are at most 2^30. dst has distinct elements and shares none
// with src. Weights and sums are double, rounded once to nearest even on store. A neighbour of
// weight 0 is not read, so a side of the same length is copied (without a size_offset), whatever
// its elements. Allocates nothing on success. On an error nothing has been written. Errors:
// invalid_argument.
[[nodiscard]] ROTARY_API Status interpolate_table(TableView dst, ConstTableView src,
                                                  const TableInterpolation& interpolation) noexcept;

// The backward pass, the transpose of that map: adds to gradient, shaped as src, the contributions
// of upstream, the gradient of dst. In the order of upstream's rows, each sum rounded to the
// gradient's dtype, f32 or f64; upstream may have any dtype, but f64 needs a gradient of f64.
[[nodiscard]] ROTARY_API Status add_interpolation_gradient(
    TableView gradient, ConstTableView upstream, const TableInterpolation& interpolation) noexcept;

}  // namespace rotary
