// SPDX-License-Identifier: Apache-2.0
// Frequencies for positions in [-1, 1].
#include <numbers>

#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

// Frequencies rise in equal steps from π to max_freq π / 2.
TEST(PixelRule, IsEvenlySpaced) {
  const auto got = test::frequencies_with(PixelScaling{.max_freq = 64}).inv_freq;
  EXPECT_EQ(got.front(), std::numbers::pi);
  EXPECT_EQ(got.back(), 32 * std::numbers::pi);
  for (std::size_t pair = 0; pair < got.size(); ++pair) {
    EXPECT_DOUBLE_EQ(got[pair], std::numbers::pi * static_cast<double>(pair + 1));
  }
}

TEST(PixelRule, DoesNotDependOnTheBase) {
  const PixelScaling rule{.max_freq = 10};
  EXPECT_EQ(test::value_of(make_frequencies(test::spec_with(2, 64, rule))).inv_freq,
            test::frequencies_with(rule).inv_freq);
}

TEST(PixelRule, RefusesAMaxFreqAboveTheLimit) {
  test::expect_refused(PixelScaling{.max_freq = 1e300}, {"inv_freq must be in (-2^40, 2^40)"});
}

}  // namespace
}  // namespace rotary
