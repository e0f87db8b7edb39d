// SPDX-License-Identifier: Apache-2.0
// The values of the published bounds: numbers that a user may have copied must not change.
#include "rotary/numeric_contract.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "rotary/rotations.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

TEST(NumericContract, AngleErrorGrowsWithThePosition) {
  EXPECT_EQ(angle_error_bound(0), 0x1p-50);
  EXPECT_EQ(angle_error_bound(-4096), angle_error_bound(4096));
  EXPECT_EQ(angle_error_bound(-4096.0), angle_error_bound(4096));
  EXPECT_GT(angle_error_bound(4096.5), angle_error_bound(4096));
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

TEST(NumericContract, Float16AddsItsOwnHalfUlp) {
  EXPECT_NEAR(rotate_f16_error_bound(Direction::forward, 1, 0, 1), 3 + 0x1p13, 0.01);
  EXPECT_NEAR(rotate_f16_error_bound(Direction::inverse, 1.25, 0, 0x1p-14), 5 + 0x1p13, 0.01);
}

// Never less than half of 2^-24, the least that a subnormal f16 can change by.
TEST(NumericContract, Float16AddsHalfTheSpacingOfItsSubnormals) {
  for (const double hypot : {0x1p-16, 0x1p-24, 0x1p-30}) {
    const double bound = rotate_f16_error_bound(Direction::forward, 1, 0, hypot);
    EXPECT_NEAR(bound * 0x1p-24 * hypot, 0x1p-25, 4 * 0x1p-24 * hypot);
    EXPECT_GT(bound * 0x1p-24 * hypot, 0x1p-25);
  }
  EXPECT_EQ(f16_overflow, 65504 + 16);
}

// In units of 2^-53: the row's 2^-50 weighs 8, by both features 8 √2.
TEST(NumericContract, Float64IsTwoRoundingsAndTheRow) {
  EXPECT_EQ(row_f64_error_bound(2, 0), 0x1p-49);
  EXPECT_NEAR(rotate_f64_error_bound(Direction::forward, 1, 0), 2 + 8 * 1.41421, 1e-4);
  EXPECT_NEAR(rotate_f64_error_bound(Direction::inverse, 1.25, 0), 5 + 8 * 1.41421, 1e-4);
  EXPECT_NEAR(rotate_f64_error_bound(Direction::inverse, 1, 0), 2 + 8 * 1.41421, 1e-4);
}

// The computed value is rounded, here binades above the exact one: its half ulp counts.
TEST(NumericContract, RowsWhoseAngleErrorIsLargerThanTheRow) {
  constexpr std::int64_t position = 35184409153272;
  constexpr double exact = -0x1.bd70a63c3facp-20;  // sin(position * inv_freq), by MPFR
  const auto frequencies = test::value_of(
      make_frequencies(HeadWindow{.head_dim = 2, .rotary_dim = 2, .pairing = Pairing::half},
                       {0x1.a2b3c575956dep-1}, 1));
  const auto rotations = test::value_of(
      make_rotations(frequencies, ConsecutivePositions{.first = position, .tokens = 1}));
  const double error = std::abs(static_cast<double>(rotations.sin(0, 0)[0]) - exact);
  EXPECT_LE(error, row_error_bound(exact, 1, position));
  EXPECT_GT(error, angle_error_bound(position));  // without the rounding it would not hold
}

// 64 features, 1000 keys, scores up to 30: a ten-thousandth of the largest value.
TEST(NumericContract, AttentionGrowsWithScoresFeaturesAndKeys) {
  const AttendedRow row{.head_dim = 64, .keys = 1000, .score_size = 30};
  EXPECT_NEAR(attend_score_error(row), 72 * 30 * 0x1p-24, 1e-6);
  EXPECT_NEAR(attend_error_bound(row) * 0x1p-24, 2.08e-4, 1e-6);
  EXPECT_NEAR(attend_log_sum_exp_error_bound(row, 10), 1.49e-4, 1e-6);
  AttendedRow turned = row;
  turned.rotation = 6;
  EXPECT_NEAR(attend_score_error(turned) / attend_score_error(row), (72 + 8.485) / 72, 1e-4);
  EXPECT_NEAR(attend_weight_error_bound(row), 2.76e-4, 1e-6);
  AttendedRow with_vectors = row;
  with_vectors.distance_size = 10;
  EXPECT_NEAR(attend_score_error(with_vectors) / attend_score_error(row),
              (72 * 30 + 64 * 10) / (72.0 * 30), 1e-4);
  with_vectors = row;
  with_vectors.value_distances = 129;
  EXPECT_NEAR(attend_sums_error(with_vectors) - attend_sums_error(row),
              (129 + 512 + 3 * 35 + 33) * 0x1p-24, 1e-8);
  // No two sums of weights differ by more than this.
  const AttendedRow steep{.head_dim = 64, .keys = 1000, .score_size = 1e30};
  EXPECT_NEAR(attend_error_bound(steep) * 0x1p-24, 2, 1e-3);
  EXPECT_EQ(attend_error_bound({.head_dim = 64, .keys = 1 << 24}),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace rotary
