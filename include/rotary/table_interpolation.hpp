// SPDX-License-Identifier: Apache-2.0
// A learned table for another length or another grid than it was trained for, as vision
// transformers do with images of another size.
#pragma once

#include <cstdint>
#include <variant>

#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary {

// Of m rows, n are made: row i is read at x = (i + 1/2) m/n - 1/2, at least 0, between its two
// neighbours. interpolate(mode="linear", align_corners=False) of torch.
struct LinearInterpolation {
  std::int64_t kept_rows = 0;  // at the start of both tables, which are copied: class tokens
};

// Rows of a grid follow one another: row r, column c of it is table row r*columns + c.
struct TableGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// The same along both axes of a grid, without the limit at 0, from the 4 x 4 neighbours, those
// beyond the border being its own; weighted by the cubic convolution of Keys with a = -3/4.
// interpolate(size=…, mode="bicubic", align_corners=False, antialias=False) of torch: ViT, DeiT.
struct BicubicInterpolation {
  std::int64_t kept_rows = 0;
  TableGrid from;
  TableGrid to;
  // Added, in double, to the sides n of `to` in the coordinates alone: 0.1 is what DINO and DINOv2
  // do, by scale_factor=(n + 0.1)/m. In [0, 1); with another than 0, sides are at most 2^26.
  double size_offset = 0;
};

using TableInterpolation = std::variant<LinearInterpolation, BicubicInterpolation>;

// dst from src: both of one dtype and as many features, with the rows that the interpolation says;
// rows and sides are at most 2^30. dst has distinct elements and shares none with src. Weights and
// sums are double, rounded once to nearest even on store; a neighbour of weight 0 is not read, so a
// side of the same length is copied (but for a size_offset), whatever its elements. Allocates
// nothing on success. On an error nothing has been written. Errors: invalid_argument.
[[nodiscard]] ROTARY_API Status interpolate_table(TableView dst, ConstTableView src,
                                                  const TableInterpolation& interpolation) noexcept;

// The transpose of that map, its backward pass: gradient, of the shape of src, += what upstream,
// the gradient of dst, says. In the order of upstream's rows, each sum rounded to the gradient's
// dtype, f32 or f64; upstream may have any dtype, but f64 needs a gradient of f64.
[[nodiscard]] ROTARY_API Status add_interpolation_gradient(
    TableView gradient, ConstTableView upstream, const TableInterpolation& interpolation) noexcept;

}  // namespace rotary
