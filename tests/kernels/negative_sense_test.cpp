// SPDX-License-Identifier: Apache-2.0
// Frequencies below 0 turn a pair by -φ: rows are within the usual bound, and the rotation is the
// transpose of that of the positive frequencies.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::Tensor;

HeadWindow window_of(std::size_t pairs, Pairing pairing = Pairing::half) {
  const auto rotary_dim = static_cast<std::int64_t>(2 * pairs);
  return {.head_dim = rotary_dim, .rotary_dim = rotary_dim, .first_feature = 0, .pairing = pairing};
}

Frequencies frequencies_of(const std::vector<double>& inv_freq, double attention_factor) {
  return test::value_of(make_frequencies(window_of(inv_freq.size()), inv_freq, attention_factor));
}

// The smallest and largest numbers, thirds of a turn, and random ones.
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

// cos has the bits of the positive frequency's and sin the other sign.
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

TEST(NegativeSense, OfASpecRotatesAsTheTransposeOfThePositive) {
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
