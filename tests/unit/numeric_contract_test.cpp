// SPDX-License-Identifier: Apache-2.0
// The published bounds themselves: numbers that a user may have copied must not drift.
#include "rotary/numeric_contract.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace rotary {
namespace {

TEST(NumericContract, AngleErrorGrowsWithThePosition) {
  EXPECT_EQ(angle_error_bound(0), 0x1p-50);
  EXPECT_EQ(angle_error_bound(-4096), angle_error_bound(4096));
  EXPECT_NEAR(angle_error_bound(std::int64_t{1} << 40), 6.2832 * 0x1p-25, 1e-11);
  EXPECT_GT(angle_error_bound(std::numeric_limits<std::int64_t>::min()), 1.5);
}

TEST(NumericContract, RowErrorIsHalfAnUlpAndTheAngle) {
  EXPECT_EQ(row_error_bound(0.75, 1, 0), 0x1p-25 + 0x1p-50);
  EXPECT_EQ(row_error_bound(-0.75, 1, 0), 0x1p-25 + 0x1p-50);
  EXPECT_EQ(row_error_bound(1.5, 2, 0), 0x1p-24 + 0x1p-49);
}

TEST(NumericContract, RotatedErrorIsThreeUnitsNearTheOrigin) {
  EXPECT_NEAR(rotate_error_bound(Direction::forward, 1, 0), 3, 1e-5);
  EXPECT_NEAR(rotate_error_bound(Direction::transpose, 1.25, 0), 3, 1e-5);
  EXPECT_NEAR(rotate_error_bound(Direction::inverse, 1, 131071), 3, 1e-5);
  EXPECT_NEAR(rotate_error_bound(Direction::inverse, 1.25, 0), 5, 1e-5);
}

TEST(NumericContract, Bfloat16AddsItsOwnHalfUlp) {
  EXPECT_NEAR(rotate_bf16_error_bound(Direction::forward, 1, 0), 3 + 0x1p16, 0.02);
}

}  // namespace
}  // namespace rotary
