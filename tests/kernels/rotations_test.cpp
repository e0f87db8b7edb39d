// SPDX-License-Identifier: Apache-2.0
// Compares rows of cos and sin with MPFR, within their published bounds, at integers over all of
// int64 and at fractional positions. Equal positions have rows with equal bits.
#include "rotary/rotations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/cases.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::all_row_bits;
using test::row_bits;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

HeadWindow window_of(std::size_t pairs, Pairing pairing = Pairing::half) {
  const auto rotary_dim = static_cast<std::int64_t>(2 * pairs);
  return {.head_dim = rotary_dim, .rotary_dim = rotary_dim, .first_feature = 0, .pairing = pairing};
}

Frequencies frequencies_of(const std::vector<double>& inv_freq, double attention_factor) {
  return test::value_of(make_frequencies(window_of(inv_freq.size()), inv_freq, attention_factor));
}

std::vector<std::int64_t> remarkable_integers() {
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

// Fractions of many magnitudes up to 2^52. Larger doubles are integers.
std::vector<double> remarkable_fractions() {
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

template <class Number>
void expect_rows_within_bound(const Frequencies& frequencies,
                              const std::vector<Number>& positions) {
  for (const RowDType rows : test::all_row_dtypes) {
    ASSERT_TRUE(test::rows_within_bound(frequencies, positions_of(positions), rows));
  }
}

TEST(Rotations, StayWithinTheBoundAtRemarkablePositions) {
  for (const double factor : {1.0, 1.3465735902799727, 0.1, 7.5}) {
    const Frequencies frequencies = test::frequencies_of(window_of(64), factor);
    expect_rows_within_bound(frequencies, remarkable_integers());
    expect_rows_within_bound(frequencies, remarkable_fractions());
  }
}

// Frequencies of 0, a tiny part of a turn, one turn and many turns per token, and random ones.
std::vector<double> hostile_frequencies() {
  std::vector<double> inv_freq = {0,
                                  std::numeric_limits<double>::denorm_min(),
                                  0x1p-200,
                                  0x1p-70,
                                  0x1p-64,
                                  0x1.fffffffffffffp-52,
                                  1,
                                  0x1.921fb54442d18p+2,  // the double nearest to 2 pi
                                  3,
                                  0x1.fffffffffffffp+20,
                                  0x1p39,
                                  0x1.23456789abcdfp39,
                                  0x1.fffffffffffffp+39};
  test::Random random(2);
  for (int i = 0; i < 51; ++i) inv_freq.push_back(std::abs(random.magnitude(-60, 39)));
  return inv_freq;
}

std::vector<double> negated(std::vector<double> numbers) {
  for (double& number : numbers) number = -number;
  return numbers;
}

TEST(Rotations, StayWithinTheBoundForHostileFrequencies) {
  for (const auto& inv_freq : {hostile_frequencies(), negated(hostile_frequencies())}) {
    for (const double factor : {1.0, 1.25}) {
      const Frequencies frequencies = frequencies_of(inv_freq, factor);
      expect_rows_within_bound(frequencies, remarkable_integers());
      expect_rows_within_bound(frequencies, remarkable_fractions());
    }
  }
}

// Pairs are computed in blocks, of which the last may be partial.
TEST(Rotations, StayWithinTheBoundForAnyNumberOfPairs) {
  for (const std::size_t pairs : {1U, 2U, 15U, 16U, 17U, 63U, 64U, 65U, 80U, 128U, 129U}) {
    expect_rows_within_bound(test::frequencies_of(window_of(pairs, Pairing::interleaved), 1.25),
                             std::vector<double>{0.5, -77.125, 1e9 + 0.1});
  }
}

// Ranges start at positions of several alignments. Consecutive positions may share evaluations,
// which must not change bits.
TEST(Rotations, StayWithinTheBoundAtConsecutivePositions) {
  const Frequencies frequencies = test::frequencies_of(window_of(64), 1.25);
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

TEST(Rotations, HaveTheSameBitsForConsecutiveAndStridedPositions) {
  const Frequencies frequencies = test::frequencies_of(window_of(64), 1.25);
  const Rotations consecutive =
      test::rotations_of(frequencies, ConsecutivePositions{.first = -3, .tokens = 8});
  // [batch 2][token 4] with a token stride of 3 and a batch stride of 16: positions -3 .. 4
  std::vector<std::int32_t> narrow(32, 999);
  for (std::int32_t b = 0; b < 2; ++b) {
    for (std::int32_t t = 0; t < 4; ++t)
      narrow[static_cast<std::size_t>(b * 16 + t * 3)] = -3 + b * 4 + t;
  }

  const Rotations strided = test::rotations_of(
      frequencies,
      TokenArray<std::int32_t>{
          .data = narrow.data(), .batch = 2, .tokens = 4, .batch_stride = 16, .token_stride = 3});
  for (std::int64_t t = 0; t < 8; ++t)
    EXPECT_EQ(row_bits(consecutive, 0, t), row_bits(strided, t / 4, t % 4));
}

TEST(Rotations, HaveEqualBitsForEqualIntegersAndDoubles) {
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

TEST(Rotations, HaveRowsThatDependOnTheirPositionAlone) {
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

TEST(RowsFloat64, RoundOnceToTheFloat32Rows) {
  const auto positions = remarkable_integers();
  const Positions given = positions_of(positions);
  for (const double factor : {1.0, 1.3465735902799727, 0x1p-20, 0x1p20}) {
    const Frequencies frequencies = test::frequencies_of(window_of(37), factor);
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

// cos is bit-identical to the positive frequency's; sin has the opposite sign.
TEST(NegativeSense, MirrorsThePositiveRows) {
  const std::vector<double> inv_freq = hostile_frequencies();
  const Frequencies negative = frequencies_of(negated(inv_freq), 1.25);
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

}  // namespace
}  // namespace rotary
