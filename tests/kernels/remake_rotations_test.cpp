// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "rotary/rotations.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

HeadWindow window_of(std::int64_t rotary_dim) {
  return {.head_dim = rotary_dim + 3,
          .rotary_dim = rotary_dim,
          .first_feature = 1,
          .pairing = Pairing::interleaved};
}

void expect_same(const Rotations& got, const Rotations& wanted) {
  EXPECT_EQ(got.window(), wanted.window());
  EXPECT_EQ(got.attention_factor(), wanted.attention_factor());
  EXPECT_EQ(got.lane_stride(), wanted.lane_stride());
  ASSERT_EQ(got.batch(), wanted.batch());
  ASSERT_EQ(got.tokens(), wanted.tokens());
  ASSERT_EQ(got.row_dtype(), wanted.row_dtype());
  EXPECT_EQ(test::all_row_bits(got), test::all_row_bits(wanted));
}

TEST(RemakeRotations, EqualsMakeRotationsForAnyPreviousContent) {
  const std::vector<std::int32_t> packed = {5, 6, 7, 0, 1, 2};
  const Positions given = positions_of(std::span(packed), 2);
  const Positions one = ConsecutivePositions{.first = 1'000'000, .tokens = 1};
  const Positions many = ConsecutivePositions{.first = -20, .tokens = 40};
  const Positions none = ConsecutivePositions{};
  const Frequencies wide = test::frequencies_of(window_of(128), 1.25);
  const Frequencies narrow = test::frequencies_of(window_of(6), 1);

  for (const RowDType rows : {RowDType::f32, RowDType::f64}) {
    Rotations rotations = test::rotations_of(wide, many, rows);
    for (const Frequencies* frequencies : {&narrow, &wide, &narrow, &wide}) {
      for (const Positions* positions : {&given, &one, &many, &none, &given}) {
        test::require(remake_rotations(rotations, *frequencies, *positions));
        expect_same(rotations, test::rotations_of(*frequencies, *positions, rows));
      }
    }
  }
}

TEST(RemakeRotations, ChangesNothingOnAnError) {
  const Frequencies good = test::frequencies_of(window_of(16), 1.25);
  const Positions positions = ConsecutivePositions{.first = 7, .tokens = 5};
  const Rotations before = test::rotations_of(good, positions);
  Rotations rotations = before;

  Frequencies broken = test::frequencies_of(window_of(32));
  broken.turns.pop_back();
  test::refused(remake_rotations(rotations, broken, positions), {"turns", "16", "got 15"});
  expect_same(rotations, before);
  const Positions beyond =
      ConsecutivePositions{.first = std::numeric_limits<std::int64_t>::max(), .tokens = 2};
  test::refused(remake_rotations(rotations, good, beyond), {"int64"});
  expect_same(rotations, before);
  const Positions countless =
      ConsecutivePositions{.first = 0, .tokens = std::numeric_limits<std::int64_t>::max() / 2};
  EXPECT_FALSE(remake_rotations(rotations, good, countless));
  expect_same(rotations, before);
}

}  // namespace
}  // namespace rotary
