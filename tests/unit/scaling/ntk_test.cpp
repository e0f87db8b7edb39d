// SPDX-License-Identifier: Apache-2.0
// NTK-aware scaling with a fixed alpha.
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_as_reference;
using test::expect_refused;
using test::spec_with;

// base' has its own rounding, which the exponent d/(d-2) <= 2 at d >= 4 and ln magnify.
TEST(NtkRule, AsReference) {
  for (const double alpha : {1.0, 2.0, 4.0, 1000.0}) {
    for (const double base : {10000.0, 500000.0, 1e6}) {
      for (const std::int64_t rotary_dim : {4, 6, 64, 128}) {
        expect_as_reference(spec_with(base, rotary_dim, NtkScaling{.alpha = alpha}));
      }
    }
  }
}

TEST(NtkRule, TurnsTheSlowestPairAlphaTimesSlower) {
  const auto plain = test::frequencies_with(NoScaling{});
  const auto scaled = test::frequencies_with(NtkScaling{.alpha = 8});
  EXPECT_NEAR(plain.inv_freq.back() / scaled.inv_freq.back(), 8, 1e-12);
  EXPECT_EQ(scaled.inv_freq.front(), 1);
}

TEST(NtkRule, Refusals) {
  RotarySpec one_pair = spec_with(10000, 64, NtkScaling{.alpha = 2});
  one_pair.rotary_dim = 2;
  expect_refused(one_pair, {"rotary_dim >= 4", "got 2"});
  expect_refused(spec_with(1e200, 64, NtkScaling{.alpha = 1e200}), {"alpha", "base"});
  expect_refused(spec_with(2, 64, NtkScaling{.alpha = 1e-3}), {"alpha", "base"});
}

}  // namespace
}  // namespace rotary
