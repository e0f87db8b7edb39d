// SPDX-License-Identifier: Apache-2.0
// Rows of cos and sin against MPFR, within their published bounds, at positions over all of int64.
#include "rotary/rotations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::row_bits;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr HeadWindow whole_head{
    .head_dim = 128, .rotary_dim = 128, .first_feature = 0, .pairing = Pairing::half};

std::vector<std::int64_t> remarkable_positions() {
  std::vector<std::int64_t> positions = {0,      1,      -1,         7,       8191,
                                         131071, lowest, lowest + 1, highest, highest - 1};
  for (const std::int64_t power : {24, 31, 32, 40, 53, 62}) {
    const std::int64_t position = std::int64_t{1} << power;
    for (const std::int64_t offset : {-1, 0, 1, 3}) {
      positions.push_back(position + offset);
      positions.push_back(-(position + offset));
    }
  }
  test::Random random(1);
  for (int i = 0; i < 64; ++i) {
    positions.push_back(static_cast<std::int64_t>(random.bits()) >> random.integer(0, 60));
  }
  return positions;
}

void expect_rows_within_bound(const Frequencies& frequencies,
                              const std::vector<std::int64_t>& positions) {
  for (const RowDType rows : test::all_row_dtypes) {
    ASSERT_TRUE(test::rows_within_bound(frequencies, positions_of(std::span(positions)), rows));
  }
}

TEST(Rotations, StayWithinTheBoundAtEveryPosition) {
  for (const double factor : {1.0, 1.3465735902799727, 0.1, 7.5}) {
    expect_rows_within_bound(test::frequencies_of(whole_head, factor), remarkable_positions());
  }
}

TEST(Rotations, StayWithinTheBoundForHostileFrequencies) {
  std::vector<double> inv_freq = {0,        std::numeric_limits<double>::denorm_min(),
                                  0x1p-200, 0x1p-70,
                                  0x1p-64,  0x1.fffffffffffffp-52,
                                  1,        0x1.921fb54442d18p+2,  // the double nearest to 2 pi
                                  3,        0x1.fffffffffffffp+20,
                                  0x1p39,   0x1.fffffffffffffp+39};
  const HeadWindow window{.head_dim = static_cast<std::int64_t>(2 * inv_freq.size()),
                          .rotary_dim = static_cast<std::int64_t>(2 * inv_freq.size()),
                          .first_feature = 0,
                          .pairing = Pairing::interleaved};
  expect_rows_within_bound(test::value_of(make_frequencies(window, inv_freq, 1)),
                           remarkable_positions());
}

TEST(Rotations, StayWithinTheBoundForRandomFrequencies) {
  test::Random random(2);
  std::vector<double> inv_freq(64);
  for (double& frequency : inv_freq) {
    frequency = std::ldexp(1 + random.unit(), static_cast<int>(random.integer(-40, 20)));
  }
  expect_rows_within_bound(test::value_of(make_frequencies(whole_head, inv_freq, 1.25)),
                           remarkable_positions());
}

// Long sequences from every alignment. Their positions may share evaluations, which must not change
// bits.
TEST(Rotations, StayWithinTheBoundAtConsecutivePositions) {
  const Frequencies frequencies = test::frequencies_of(whole_head, 1.25);
  for (const std::int64_t first :
       {std::int64_t{-37}, std::int64_t{8187}, std::int64_t{131070}, (std::int64_t{1} << 31) - 21,
        (std::int64_t{1} << 40) + 3, highest - 49, lowest}) {
    std::vector<std::int64_t> positions(50);
    for (std::int64_t t = 0; t < 50; ++t) positions[static_cast<std::size_t>(t)] = first + t;
    expect_rows_within_bound(frequencies, positions);

    for (const RowDType rows : test::all_row_dtypes) {
      const Rotations run =
          test::rotations_of(frequencies, ConsecutivePositions{.first = first, .tokens = 50}, rows);
      for (std::int64_t t = 0; t < 50; ++t) {
        const ConsecutivePositions one{.first = first + t, .tokens = 1};
        EXPECT_EQ(row_bits(run, 0, t), row_bits(test::rotations_of(frequencies, one, rows), 0, 0));
      }
    }
  }
}

TEST(Rotations, EqualTheAttentionFactorAtPositionZero) {
  const Frequencies frequencies = test::frequencies_of(whole_head, 1.5);
  const Rotations rotations =
      test::rotations_of(frequencies, ConsecutivePositions{.first = 0, .tokens = 1});
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(rotations.cos(0, 0)[i], 1.5F);
    EXPECT_EQ(rotations.sin(0, 0)[i], 0.0F);
  }
}

TEST(Rotations, ReportTheirShapeAndWindow) {
  const HeadWindow window{
      .head_dim = 24, .rotary_dim = 10, .first_feature = 3, .pairing = Pairing::interleaved};
  const std::vector<std::int32_t> positions(12, 5);
  const Rotations rotations =
      test::rotations_of(test::frequencies_of(window, 1.25), positions_of(std::span(positions), 3));
  EXPECT_EQ(rotations.batch(), 3);
  EXPECT_EQ(rotations.tokens(), 4);
  EXPECT_EQ(rotations.attention_factor(), 1.25);
  EXPECT_EQ(rotations.window().head_dim, 24);
  EXPECT_EQ(rotations.window().rotary_dim, 10);
  EXPECT_EQ(rotations.window().first_feature, 3);
  EXPECT_EQ(rotations.window().pairing.get(), Pairing::interleaved);
  EXPECT_EQ(rotations.cos(0, 0).size(), 5U);
  EXPECT_EQ(&rotations.cos(0, 0)[0] + rotations.lane_stride(), &rotations.sin(0, 0)[0]);
}

TEST(Rotations, HaveTheSameBitsForAnyTypeStrideOrNeighbours) {
  const Frequencies frequencies = test::frequencies_of(whole_head, 1.25);
  const Rotations consecutive =
      test::rotations_of(frequencies, ConsecutivePositions{.first = -3, .tokens = 8});
  // [batch 2][token 4] with a token stride of 3 and a batch stride of 16: positions -3 .. 4
  std::vector<std::int32_t> narrow(32, 999);
  std::vector<std::int64_t> backwards(8);
  for (std::int32_t b = 0; b < 2; ++b) {
    for (std::int32_t t = 0; t < 4; ++t)
      narrow[static_cast<std::size_t>(b * 16 + t * 3)] = -3 + b * 4 + t;
  }
  for (std::int64_t t = 0; t < 8; ++t) backwards[static_cast<std::size_t>(7 - t)] = -3 + t;

  const Rotations strided = test::rotations_of(
      frequencies,
      TokenArray<std::int32_t>{
          .data = narrow.data(), .batch = 2, .tokens = 4, .batch_stride = 16, .token_stride = 3});
  const Rotations reversed = test::rotations_of(
      frequencies,
      TokenArray<std::int64_t>{.data = backwards.data() + 7, .tokens = 8, .token_stride = -1});
  for (std::int64_t t = 0; t < 8; ++t) {
    EXPECT_EQ(row_bits(consecutive, 0, t), row_bits(strided, t / 4, t % 4));
    EXPECT_EQ(row_bits(consecutive, 0, t), row_bits(reversed, 0, t));
  }
}

TEST(Rotations, StayWithinTheBoundAtTheLastInt64) {
  const Frequencies frequencies = test::frequencies_of(whole_head);
  EXPECT_TRUE(make_rotations(frequencies, ConsecutivePositions{.first = highest - 2, .tokens = 3}));
  EXPECT_TRUE(make_rotations(frequencies, ConsecutivePositions{.first = lowest, .tokens = 3}));
  EXPECT_TRUE(make_rotations(frequencies, ConsecutivePositions{.first = highest, .tokens = 0}));
}

// Negative frequencies turn a pair by -φ: rows are within the usual bound, and the rotation is the
// transpose of the positive one.

using test::Tensor;

HeadWindow window_of(std::size_t pairs, Pairing pairing = Pairing::half) {
  const auto rotary_dim = static_cast<std::int64_t>(2 * pairs);
  return {.head_dim = rotary_dim, .rotary_dim = rotary_dim, .first_feature = 0, .pairing = pairing};
}

Frequencies frequencies_of(const std::vector<double>& inv_freq, double attention_factor) {
  return test::value_of(make_frequencies(window_of(inv_freq.size()), inv_freq, attention_factor));
}

// Extreme numbers, thirds of a turn, and random ones.
std::vector<double> negative_frequencies() {
  std::vector<double> inv_freq = {-0.0,
                                  -std::numeric_limits<double>::denorm_min(),
                                  -0x1p-200,
                                  -0x1p-64,
                                  -0x1.fffffffffffffp-52,
                                  -1,
                                  1,
                                  -0x1.921fb54442d18p+2,
                                  -0x1.fffffffffffffp+20,
                                  -0x1.23456789abcdfp39,
                                  -0x1.fffffffffffffp+39};
  test::Random random(91);
  for (int i = 0; i < 53; ++i) inv_freq.push_back(-std::abs(random.magnitude(-60, 39)));
  return inv_freq;
}

TEST(NegativeSense, RowsStayWithinTheBound) {
  const std::vector<std::int64_t> integers = {0,
                                              1,
                                              -1,
                                              15,
                                              16,
                                              17,
                                              131071,
                                              -131071,
                                              (std::int64_t{1} << 40) + 3,
                                              std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min()};
  std::vector<double> doubles = {0.5, -0.5, 0.1, 131071.3, -8191.75, 0x1p31 + 0.5, 1e-300, -1e-9};
  test::Random random(92);
  for (int i = 0; i < 64; ++i) doubles.push_back(random.magnitude(-70, 51));
  const std::vector<double> inv_freq = negative_frequencies();
  for (const double factor : {1.0, 1.3465735902799727}) {
    const Frequencies frequencies = frequencies_of(inv_freq, factor);
    for (const RowDType rows : test::all_row_dtypes) {
      EXPECT_TRUE(test::rows_within_bound(frequencies, positions_of(std::span(integers)), rows));
      EXPECT_TRUE(test::rows_within_bound(frequencies, positions_of(std::span(doubles)), rows));
    }
  }
}

// cos is bit-identical to the positive frequency's; sin has the opposite sign.
TEST(NegativeSense, MirrorsThePositiveRows) {
  std::vector<double> inv_freq = negative_frequencies();
  const Frequencies negative = frequencies_of(inv_freq, 1.25);
  for (double& frequency : inv_freq) frequency = -frequency;
  const Frequencies positive = frequencies_of(inv_freq, 1.25);
  const std::vector<double> positions = {1, 2, 3, 40, 77.25, -6.5, 131071.3, -9e9};
  const Positions given = positions_of(std::span(positions));
  const Rotations one = test::rotations_of(negative, given, RowDType::f64);
  const Rotations other = test::rotations_of(positive, given, RowDType::f64);
  for (std::int64_t t = 0; t < one.tokens(); ++t) {
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      EXPECT_EQ(one.cos<double>(0, t)[i], other.cos<double>(0, t)[i]);
      EXPECT_EQ(one.sin<double>(0, t)[i], -other.sin<double>(0, t)[i]);
    }
  }
}

TEST(NegativeSense, RotatesAsTheTransposeOfThePositive) {
  const ConsecutivePositions positions{.first = 4090, .tokens = 20};
  for (const Pairing pairing : test::order_keeping_pairings) {
    RotarySpec spec{.head_dim = 74, .base = 10000.0, .pairing = pairing};
    const Rotations transposed =
        test::rotations_of(test::value_of(make_frequencies(spec)), positions);
    spec.sense = Sense::negative;
    const Frequencies frequencies = test::value_of(make_frequencies(spec));
    const Rotations rotations = test::rotations_of(frequencies, positions);
    const Tensor src =
        test::random_tensor({.extents = {.tokens = 20, .heads = 3, .features = 74}}, 93);
    Tensor dst = src;
    test::require(rotate(dst.view(), src.view(), rotations));
    EXPECT_TRUE(
        test::Oracle(frequencies, positions).accepts(dst.view(), src.view(), Direction::forward));
    Tensor wanted = src;
    test::require(
        rotate(wanted.view(), src.view(), transposed, {.direction = Direction::transpose}));
    EXPECT_EQ(dst.all_bits(), wanted.all_bits());
    Tensor forward = src;
    test::require(rotate(forward.view(), src.view(), transposed));
    EXPECT_NE(dst.all_bits(), forward.all_bits());
  }
}

}  // namespace
}  // namespace rotary
