// SPDX-License-Identifier: Apache-2.0
// RetNet's exponents.
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

TEST(RetNetRule, AsReference) { test::expect_as_reference_for_many_specs(RetNetScaling{}, {}, 4); }

TEST(RetNetRule, EndsWithOneOverBase) {
  const auto got = test::frequencies_with(RetNetScaling{}).inv_freq;
  EXPECT_EQ(got.front(), 1);
  EXPECT_EQ(got.back(), 1 / 10000.0);
  EXPECT_NE(got, test::frequencies_with(NoScaling{}).inv_freq);
}

TEST(RetNetRule, NeedsTwoPairs) {
  test::expect_refused(test::spec_with(10000, 2, RetNetScaling{}), {"rotary_dim >= 4", "got 2"});
}

}  // namespace
}  // namespace rotary
