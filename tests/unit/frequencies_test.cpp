// SPDX-License-Identifier: Apache-2.0
// The parts of make_frequencies beside the rules: the window, explicit lists, turns. The rules have
// their tests in scaling/.
#include "rotary/frequencies.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "reference/angle.hpp"
#include "support/random.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

TEST(Frequencies, DependOnTheRotatedPartAlone) {
  const RotarySpec partial{.head_dim = 96,
                           .rotary_dim = 24,
                           .first_feature = 8,
                           .base = 10000.0,
                           .pairing = Pairing::half};
  const auto got = test::value_of(make_frequencies(partial));
  EXPECT_EQ(
      got.inv_freq,
      test::value_of(make_frequencies({.head_dim = 24, .base = 10000.0, .pairing = Pairing::half}))
          .inv_freq);
  EXPECT_EQ(got.window.first_feature, 8);
  EXPECT_EQ(got.window.head_dim, 96);
}

TEST(Frequencies, ExplicitListIsKept) {
  const HeadWindow window{
      .head_dim = 8, .rotary_dim = 6, .first_feature = 2, .pairing = Pairing::interleaved};
  const std::vector<double> list = {0, 0x1.fffffffffffffp+39, 0x1p-1074};
  const auto got = test::value_of(make_frequencies(window, list, 0.5));
  EXPECT_EQ(got.inv_freq, list);
  EXPECT_EQ(got.attention_factor, 0.5);
  EXPECT_EQ(got.window.rotary_dim, 6);
}

// turns is inv_freq / 2 pi modulo 1, in units of 2^-64, to the nearest: the angle after one step is
// then within 2 pi 2^-65 of the truth.
TEST(Frequencies, TurnsAreHalfAUnitFromTheTruth) {
  test::Random random(25);
  std::vector<double> list = {0,         1,      0x1.921fb54442d18p+2, 0x1.fffffffffffffp+39,
                              0x1p-1074, 0x1p-61};
  while (list.size() < 200) {
    list.push_back(std::ldexp(1 + random.unit(), static_cast<int>(random.integer(-70, 38))));
  }
  const auto dim = static_cast<std::int64_t>(2 * list.size());
  const HeadWindow window{
      .head_dim = dim, .rotary_dim = dim, .first_feature = 0, .pairing = Pairing::half};
  const auto got = test::value_of(make_frequencies(window, list, 1));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto exact = reference::cos_sin(1, list[i]);
    const long double turn = static_cast<long double>(static_cast<std::int64_t>(got.turns[i])) *
                             0x1p-64L * 2 * std::numbers::pi_v<long double>;
    // sin(a - b) of the two angles is their distance, to first order.
    const long double distance = std::sin(turn) * exact.cos - std::cos(turn) * exact.sin;
    ASSERT_LE(std::abs(distance), std::numbers::pi_v<long double> * 0x1p-64L + 0x1p-62L)
        << std::hexfloat << list[i];
  }
}

}  // namespace
}  // namespace rotary
