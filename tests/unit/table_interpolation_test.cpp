// SPDX-License-Identifier: Apache-2.0
// Position tables resized to another length or grid: kept rows, the longest sides, errors. The fuzz
// target `absolute` compares tables and gradients with a dense matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rotary/absolute.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tokens.hpp"

namespace rotary {
namespace {

using test::refused;
using test::table_of;
using test::Tensor;

Tensor random_table(DType dtype, std::int64_t rows, std::int64_t features, test::Layout layout) {
  return moved_to(
      layout,
      test::random_tensor(test::tokens_shape(dtype, {.tokens = rows, .features = features}), 11));
}

// A table resized to its own size is bit-identical. Kept rows are copied.
TEST(TableInterpolation, KeepsATableOfTheSameSize) {
  for (const DType dtype : test::all_dtypes) {
    Tensor src = random_table(dtype, 13, 5, test::Layout::bthd);
    src.set({.token = 0}, 1, -0.0);
    src.set({.token = 4}, 1, -0.0);
    src.set({.token = 5}, 2, std::numeric_limits<double>::infinity());
    Tensor dst(test::tokens_shape(dtype, {.tokens = 13, .features = 5}));
    test::require(interpolate_table(table_of(dst), table_of(src), LinearInterpolation{1}));
    EXPECT_EQ(dst.all_bits(), src.all_bits());
    test::require(
        interpolate_table(table_of(dst), table_of(src), BicubicInterpolation{1, {3, 4}, {3, 4}}));
    EXPECT_EQ(dst.all_bits(), src.all_bits());
  }
}

// Row r holds r, so each result shows which rows were read.
TEST(TableInterpolation, IsAccurateOnTheLongestSides) {
  constexpr std::int64_t side = 1 << 20;
  Tensor src(test::tokens_shape(DType::f64, {.tokens = side, .features = 1}));
  for (std::int64_t row = 0; row < side; ++row)
    src.set({.token = row}, 0, static_cast<double>(row));
  Tensor dst(test::tokens_shape(DType::f64, {.tokens = 1000, .features = 1}));
  test::require(interpolate_table(table_of(dst), table_of(src),
                                  BicubicInterpolation{0, {side, 1}, {1000, 1}, 0.1}));
  for (std::int64_t i = 0; i < 1000; ++i) {
    const double x = (static_cast<double>(i) + 0.5) * side / 1000.1 - 0.5;
    // Cubic convolution with a = -1/2 reproduces a straight line. Here a is -0.75, which adds a
    // bend proportional to a + 1/2.
    const double t = x - std::floor(x);
    const double bend = (-0.75 + 0.5) * 2 * t * (1 - t) * (2 * t - 1);
    ASSERT_NEAR(dst.at({.token = i}, 0), x + bend, side * 0x1p-39) << i;
  }
}

struct InterpolateCall {
  Tensor src = random_table(DType::f32, 5, 4, test::Layout::bthd);
  Tensor dst = random_table(DType::f32, 12, 4, test::Layout::bthd);
  TableView to = table_of(dst);
  ConstTableView from = table_of(src);
  TableInterpolation how = LinearInterpolation{};

  [[nodiscard]] auto written() const { return dst.bytes(); }
  [[nodiscard]] Status run() const { return interpolate_table(to, from, how); }
};

using TableInterpolationErrors = test::Refusals<InterpolateCall>;

TEST_F(TableInterpolationErrors, LeaveTheTableUnchanged) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  refuse(c.how = LinearInterpolation{-1}, {"kept_rows must be in", "got -1"});
  refuse(c.how = LinearInterpolation{6}, {"got 6 for 5 and 12 rows"});
  refuse(c.how = LinearInterpolation{5}, {"a row to interpolate from"});
  refuse(c.how = BicubicInterpolation{1, {2, 3}, {11, 1}},
         {"from: 2 x 3 must be the rows", "got 4"});
  refuse(c.how = BicubicInterpolation{1, {2, 2}, {3, 4}}, {"to: 3 x 4 must be the rows", "got 11"});
  refuse(c.how = BicubicInterpolation{0, {huge, huge}, {3, 4}}, {"sides must be in [0, 2^30]"});
  refuse(c.how = BicubicInterpolation{0, {-1, -5}, {3, 4}}, {"got -1 x -5"});
  for (const double offset : {-0.5, 1.0, std::nan("")})
    refuse(c.how = BicubicInterpolation{1, {2, 2}, {11, 1}, offset},
           {"size_offset must be in [0, 1), got "});
  c.how = BicubicInterpolation{0, {1LL << 27, 1}, {12, 1}, 0.1};
  c.from.rows = 1LL << 27;
  refuse(c.from.row_stride = 0, {"sides must be at most 2^26 with a size_offset, got 134217728"});
  refuse(c.from = c.to, {"share no element"});
  c.from.rows = 1LL << 40;
  refuse(c.from.row_stride = 0, {"at most 2^30 rows"});
  refuse(c.from.features = 3, {"same features, got 4 and 3"});
  refuse(c.from.dtype = DType::f16, {"same dtype, got f32 and f16"});
  c.to.rows = 0;
  EXPECT_TRUE(c.run());
  accept(c.how = BicubicInterpolation{0, {5, 1}, {0, 9}});
}

}  // namespace
}  // namespace rotary
