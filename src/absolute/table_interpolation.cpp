// SPDX-License-Identifier: Apache-2.0
// An interpolated row is a sum of rows of the table (taps), each with a weight.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "absolute/token_views.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/absolute.hpp"
#include "rotary/result.hpp"
#include "tensor/element_runs.hpp"

namespace rotary {
namespace {

struct Tap {
  std::int64_t row = 0;
  double weight = 0;
};

struct Taps {
  std::array<Tap, 16> taps;
  std::size_t count = 0;  // at least 1: weights sum to 1
};

// Numbers of rows of the source table and of the written table.
struct TableRowCounts {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// Keeps the areas of grids, and the product (2i + 1) * from in coordinate_of(), within int64.
constexpr std::int64_t most_rows = std::int64_t{1} << 30;
// Keeps the product (2i + 1) * from exact in double.
constexpr std::int64_t most_rows_with_offset = std::int64_t{1} << 26;

// Row i of the written table has this coordinate in the source table:
// x = (i + 1/2) from/to - 1/2 = ((2i + 1) * from - to) / (2 to). Only the division for rest rounds.
struct Coordinate {
  std::int64_t floor = 0;
  double rest = 0;  // in [0, 1)
};

Coordinate coordinate_of(std::int64_t i, std::int64_t from, std::int64_t to) {
  const std::int64_t numerator = (2 * i + 1) * from - to;
  const std::int64_t denominator = 2 * to;
  const std::int64_t floor = numerator / denominator - (numerator % denominator < 0 ? 1 : 0);
  return {.floor = floor,
          .rest = static_cast<double>(numerator - floor * denominator) /
                  static_cast<double>(denominator)};
}

// As above, if `to` is not an integer. whole + part = x + 1/2. Only the division for `part` rounds,
// because fmod is exact.
Coordinate coordinate_of(std::int64_t i, std::int64_t from, double to) {
  const auto numerator = static_cast<double>((2 * i + 1) * from);
  const double denominator = 2 * to;
  const double remainder = std::fmod(numerator, denominator);
  const auto whole = static_cast<std::int64_t>(std::round((numerator - remainder) / denominator));
  const double part = remainder / denominator;
  if (part < 0.5) return {.floor = whole - 1, .rest = part + 0.5};
  return {.floor = whole, .rest = part - 0.5};
}

// Weights of Keys' cubic convolution with a = -3/4 at the distances 1 + t, t, 1 - t, 2 - t:
//     (a + 2) s³ - (a + 3) s² + 1 for s <= 1,  a s³ - 5a s² + 8a s - 4a for 1 < s < 2.
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double s) { return ((a + 2) * s - (a + 3)) * s * s + 1; };
  const auto far = [](double s) { return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

struct AxisTaps {
  std::array<std::int64_t, 4> index;
  std::array<double, 4> weight;
};

AxisTaps cubic_taps(std::int64_t i, std::int64_t from, std::int64_t to, double size_offset) {
  const Coordinate x = size_offset == 0
                           ? coordinate_of(i, from, to)
                           : coordinate_of(i, from, static_cast<double>(to) + size_offset);
  AxisTaps taps{.index = {}, .weight = cubic_weights(x.rest)};
  for (std::size_t k = 0; k < 4; ++k) {
    const std::int64_t index = x.floor - 1 + static_cast<std::int64_t>(k);
    taps.index[k] = std::clamp<std::int64_t>(index, 0, from - 1);
  }
  return taps;
}

// Skips neighbours of weight 0: their Inf or NaN must not enter the row.
void add_tap(Taps& taps, std::int64_t row, double weight) {
  if (weight != 0) taps.taps[taps.count++] = {.row = row, .weight = weight};
}

Taps taps_of(const LinearInterpolation& linear, const TableRowCounts& rows, std::int64_t row) {
  const std::int64_t from = rows.from - linear.kept_rows;
  Coordinate x = coordinate_of(row - linear.kept_rows, from, rows.to - linear.kept_rows);
  if (x.floor < 0) x = {};
  const std::int64_t next = std::min(x.floor + 1, from - 1);
  Taps taps;
  add_tap(taps, linear.kept_rows + x.floor, 1 - x.rest);
  add_tap(taps, linear.kept_rows + next, x.rest);
  return taps;
}

Taps taps_of(const BicubicInterpolation& bicubic, const TableRowCounts&, std::int64_t row) {
  const std::int64_t cell = row - bicubic.kept_rows;
  const auto& [kept, from, to, offset] = bicubic;
  const AxisTaps down = cubic_taps(cell / to.columns, from.rows, to.rows, offset);
  const AxisTaps across = cubic_taps(cell % to.columns, from.columns, to.columns, offset);
  Taps taps;
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      add_tap(taps, kept + down.index[r] * from.columns + across.index[c],
              down.weight[r] * across.weight[c]);
    }
  }
  return taps;
}

std::int64_t kept_rows(const TableInterpolation& interpolation) {
  return std::visit([](const auto& each) { return each.kept_rows; }, interpolation);
}

Status check_grid(std::string_view name, const TableGrid& grid, std::int64_t rows) {
  if (grid.rows < 0 || grid.columns < 0 || grid.rows > most_rows || grid.columns > most_rows) {
    return invalid_argument(name, ": sides must be in [0, 2^30], got ", grid.rows, " x ",
                            grid.columns);
  }
  if (grid.rows * grid.columns == rows) return {};
  return invalid_argument(name, ": ", grid.rows, " x ", grid.columns,
                          " must be the rows of the table without kept_rows, got ", rows);
}

Status check_size_offset(const BicubicInterpolation& bicubic) {
  const auto& [kept, from, to, offset] = bicubic;
  if (!(offset >= 0 && offset < 1)) {
    return invalid_argument("size_offset must be in [0, 1), got ", offset);
  }
  const std::int64_t longest = std::max({from.rows, from.columns, to.rows, to.columns});
  if (offset == 0 || longest <= most_rows_with_offset) return {};
  return invalid_argument("sides must be at most 2^26 with a size_offset, got ", longest);
}

Status check_shape(const LinearInterpolation&, const TableRowCounts&) { return {}; }

Status check_shape(const BicubicInterpolation& bicubic, const TableRowCounts& rows) {
  auto status = check_grid("from", bicubic.from, rows.from - bicubic.kept_rows);
  if (status) status = check_grid("to", bicubic.to, rows.to - bicubic.kept_rows);
  return status ? check_size_offset(bicubic) : status;
}

// Checks that the counts fit the interpolation and each other.
Status check_rows(const TableInterpolation& interpolation, const TableRowCounts& rows) {
  if (rows.from > most_rows || rows.to > most_rows) {
    return invalid_argument("tables must have at most 2^30 rows, got ", rows.from, " and ",
                            rows.to);
  }
  const std::int64_t kept = kept_rows(interpolation);
  if (kept < 0 || kept > rows.from || kept > rows.to) {
    return invalid_argument("kept_rows must be in [0, rows of both tables], got ", kept, " for ",
                            rows.from, " and ", rows.to, " rows");
  }
  if (rows.from == kept && rows.to > kept) {
    return invalid_argument("the table must have a row to interpolate from, got ", rows.from,
                            " rows with kept_rows ", kept);
  }
  return std::visit([&](const auto& each) { return check_shape(each, rows); }, interpolation);
}

// Taps of row `row` of the written table. Requires checked counts.
Taps taps_of(const TableInterpolation& interpolation, const TableRowCounts& rows,
             std::int64_t row) {
  if (row < kept_rows(interpolation)) {
    Taps taps;
    taps.count = 1;
    taps.taps[0] = {.row = row, .weight = 1};
    return taps;
  }
  return std::visit([&](const auto& each) { return taps_of(each, rows, row); }, interpolation);
}

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

// The sum starts from the first tap instead of 0, so a copied row keeps its bits, even those of -0.
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
