// SPDX-License-Identifier: Apache-2.0
// Positions between integers: rows stay within the usual bound of MPFR; integers stored as double
// have the integer's bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rotary/rotations.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::all_row_bits;
using test::row_bits;

HeadWindow window_of(std::size_t pairs) {
  const auto rotary_dim = static_cast<std::int64_t>(2 * pairs);
  return {.head_dim = rotary_dim,
          .rotary_dim = rotary_dim,
          .first_feature = 0,
          .pairing = Pairing::interleaved};
}

Frequencies frequencies_of(const std::vector<double>& inv_freq, double attention_factor) {
  return test::value_of(make_frequencies(window_of(inv_freq.size()), inv_freq, attention_factor));
}

// Every binade whose doubles have fractions, and its last numbers.
std::vector<double> remarkable_positions() {
  std::vector<double> positions = {0.5,
                                   0.25,
                                   1e-300,
                                   std::numeric_limits<double>::denorm_min(),
                                   0.1,
                                   std::nextafter(1.0, 0.0),
                                   std::nextafter(1.0, 2.0),
                                   8191.75,
                                   131071.3,
                                   0x1p31 + 0.5,
                                   0x1p51 + 0.5,
                                   0x1p52 - 0.5,
                                   0x1p52 + 1};
  for (int power = -80; power < 52; power += 4) positions.push_back(std::ldexp(1.7, power));
  test::Random random(51);
  for (int i = 0; i < 64; ++i) positions.push_back(std::abs(random.magnitude(-70, 51)));
  const std::size_t ahead = positions.size();
  for (std::size_t i = 0; i < ahead; ++i) positions.push_back(-positions[i]);
  return positions;
}

void expect_within_bound(const Frequencies& frequencies, const std::vector<double>& positions) {
  for (const RowDType rows : test::all_row_dtypes) {
    EXPECT_TRUE(test::rows_within_bound(frequencies, positions_of(std::span(positions)), rows));
  }
}

TEST(FractionalPositions, StayWithinTheBound) {
  for (const double factor : {1.0, 1.3465735902799727, 0.1, 7.5}) {
    expect_within_bound(test::frequencies_of(window_of(64), factor), remarkable_positions());
  }
}

// One step of the fraction may be many turns, or a tiny part of one.
TEST(FractionalPositions, StayWithinTheBoundForHostileFrequencies) {
  expect_within_bound(
      frequencies_of({0, std::numeric_limits<double>::denorm_min(), 0x1p-200, 0x1p-70, 0x1p-64,
                      0x1.fffffffffffffp-52, 1, 0x1.921fb54442d18p+2, 3, 0x1.fffffffffffffp+20,
                      0x1p39, 0x1.23456789abcdfp39, 0x1.fffffffffffffp+39},
                     1),
      remarkable_positions());
}

TEST(FractionalPositions, StayWithinTheBoundForRandomFrequencies) {
  test::Random random(52);
  std::vector<double> inv_freq(64);
  for (double& frequency : inv_freq) frequency = std::abs(random.magnitude(-60, 39));
  expect_within_bound(frequencies_of(inv_freq, 1.25), remarkable_positions());
}

// Pairs are computed in blocks: none is left out, and padding is not a pair.
TEST(FractionalPositions, StayWithinTheBoundForAnyNumberOfPairs) {
  for (const std::size_t pairs : {1U, 2U, 15U, 16U, 17U, 63U, 64U, 65U, 80U, 128U, 129U}) {
    expect_within_bound(test::frequencies_of(window_of(pairs), 1.25), {0.5, -77.125, 1e9 + 0.1});
  }
}

TEST(FractionalPositions, HaveTheIntegersBitsAtIntegers) {
  std::vector<double> doubles = {
      0,      -0.0,    1,      -1,         8191,       8192,          8193,     131071,   -0x1p63,
      0x1p62, -0x1p53, 0x1p53, 0x1p53 + 2, 0x1p52 + 1, 0x1p63 - 1024, -12345.0, -12344.0, -12343.0};
  test::Random random(53);
  for (int i = 0; i < 64; ++i) doubles.push_back(std::trunc(random.magnitude(0, 62)));
  std::vector<std::int64_t> integers;
  for (const double position : doubles) integers.push_back(static_cast<std::int64_t>(position));
  const Positions as_doubles = positions_of(std::span<const double>(doubles));
  const Positions as_integers = positions_of(std::span<const std::int64_t>(integers));
  const Frequencies frequencies = test::frequencies_of(window_of(40), 1.25);
  for (const RowDType rows : test::all_row_dtypes) {
    EXPECT_EQ(all_row_bits(test::rotations_of(frequencies, as_doubles, rows)),
              all_row_bits(test::rotations_of(frequencies, as_integers, rows)));
  }
}

// Neighbours and strides change no bit of a row.
TEST(FractionalPositions, HaveTheSameBitsBesideAnyNeighbours) {
  const std::vector<double> positions = {7,    8,   8.5, 9,   10,           11.25, 11.25, 12,
                                         -0.5, 0.5, 1.5, 2.5, 2147483648.5, 3,     4,     5};
  const Frequencies frequencies = test::frequencies_of(window_of(40), 1.25);
  for (const RowDType dtype : test::all_row_dtypes) {
    const Rotations rotations =
        test::rotations_of(frequencies, positions_of(std::span(positions)), dtype);
    const Rotations batches =
        test::rotations_of(frequencies, positions_of(std::span(positions), 2), dtype);
    const Rotations reversed = test::rotations_of(
        frequencies,
        TokenArray<double>{.data = positions.data() + 15, .tokens = 16, .token_stride = -1}, dtype);
    for (std::int64_t t = 0; t < 16; ++t) {
      const auto alone = row_bits(
          test::rotations_of(frequencies,
                             TokenArray<double>{.data = positions.data() + t, .tokens = 1}, dtype),
          0, 0);
      EXPECT_EQ(row_bits(rotations, 0, t), alone) << positions[static_cast<std::size_t>(t)];
      EXPECT_EQ(row_bits(batches, t / 8, t % 8), alone);
      EXPECT_EQ(row_bits(reversed, 0, 15 - t), alone);
    }
  }
}

// The angle addition formulas give the cos and sin of position 4096 from those of 0.25 and 4095.75.
TEST(FractionalPositions, RowsOf4096FollowFromThoseOf0_25And4095_75) {
  const std::vector<double> positions = {0.25, 4095.75, 4096};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window_of(64)),
                                                 positions_of(std::span(positions)), RowDType::f64);
  for (std::size_t i = 0; i < 64; ++i) {
    const auto cos = [&](std::int64_t t) { return rotations.cos<double>(0, t)[i]; };
    const auto sin = [&](std::int64_t t) { return rotations.sin<double>(0, t)[i]; };
    EXPECT_NEAR(cos(0) * cos(1) - sin(0) * sin(1), cos(2), 0x1p-47);
    EXPECT_NEAR(sin(0) * cos(1) + cos(0) * sin(1), sin(2), 0x1p-47);
  }
}

TEST(FractionalPositions, RotateQueriesWithinTheBound) {
  const std::vector<double> positions = {0.5, -0.25, 8191.75, 131071.3, 0x1p31 + 0.5, 12};
  const Positions given = positions_of(std::span(positions), 2);
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window{
        .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = pairing};
    const Frequencies frequencies = test::frequencies_of(window, 1.25);
    const test::Oracle oracle(frequencies, given);
    for (const DType dtype : test::all_dtypes) {
      const Rotations rotations = test::rotations_of(frequencies, given, test::rows_for(dtype));
      for (const Direction direction : test::all_directions) {
        SCOPED_TRACE(test::describe(dtype, pairing, direction));
        const test::Tensor src = test::random_tensor(
            {.dtype = dtype, .extents = {.batch = 2, .tokens = 3, .heads = 2, .features = 50}}, 54);
        test::Tensor dst = src;
        test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
        EXPECT_TRUE(oracle.accepts(dst.view(), src.view(), direction));
      }
    }
  }
}

constexpr HeadWindow whole_head{
    .head_dim = 74, .rotary_dim = 74, .first_feature = 0, .pairing = Pairing::half};

TEST(RowsFloat64, RoundOnceToTheFloat32Rows) {
  std::vector<std::int64_t> positions = {0,
                                         1,
                                         -1,
                                         131071,
                                         std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max()};
  test::Random random(44);
  for (int i = 0; i < 120; ++i) {
    positions.push_back(static_cast<std::int64_t>(random.bits()) >> random.integer(0, 62));
  }
  const Positions given = positions_of(std::span<const std::int64_t>(positions));
  for (const double factor : {1.0, 1.3465735902799727, 0x1p-20, 0x1p20}) {
    const Frequencies frequencies = test::frequencies_of(whole_head, factor);
    const Rotations wide = test::rotations_of(frequencies, given, RowDType::f64);
    const Rotations narrow = test::rotations_of(frequencies, given, RowDType::f32);
    for (std::int64_t t = 0; t < wide.tokens(); ++t) {
      for (std::size_t i = 0; i < frequencies.inv_freq.size(); ++i) {
        ASSERT_EQ(static_cast<float>(wide.cos<double>(0, t)[i]), narrow.cos(0, t)[i]);
        ASSERT_EQ(static_cast<float>(wide.sin<double>(0, t)[i]), narrow.sin(0, t)[i]);
      }
    }
  }
}

}  // namespace
}  // namespace rotary
