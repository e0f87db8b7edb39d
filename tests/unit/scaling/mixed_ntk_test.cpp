// SPDX-License-Identifier: Apache-2.0
// NTK-RoPE with fixed digits, plain and mixed.
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;

TEST(MixedNtkRule, AsReference) {
  for (const double factor : {1.0, 2.0, 4.0, 8.0, 1e4}) {
    for (const double mixed_b : {0.0, 0.1, 0.625, 1.0, 7.0}) {
      test::expect_as_reference_for_many_specs(
          MixedNtkScaling{.factor = factor, .mixed_b = mixed_b});
    }
    test::expect_as_reference_for_many_specs(MixedNtkScaling{.factor = factor});
  }
  test::expect_as_reference_for_many_specs(MixedNtkScaling{.factor = 0.25, .mixed_b = 0.625});
}

// Both forms stretch the last pair by the whole factor: (base f)^(-(d-2)/d) f^(-2/d) = ω / f.
TEST(MixedNtkRule, StretchesTheSlowestPairByTheFactor) {
  const double unscaled = test::frequencies_with(NoScaling{}).inv_freq.back();
  for (const MixedNtkScaling& rule :
       {MixedNtkScaling{.factor = 8}, MixedNtkScaling{.factor = 8, .mixed_b = 0.625}}) {
    EXPECT_NEAR(unscaled / test::frequencies_with(rule).inv_freq.back(), 8, 1e-12);
  }
}

TEST(MixedNtkRule, IsLinearWithAnExponentOfZero) {
  EXPECT_EQ(test::frequencies_with(MixedNtkScaling{.factor = 8, .mixed_b = 0}).inv_freq,
            test::frequencies_with(LinearScaling{.factor = 8}).inv_freq);
}

TEST(MixedNtkRule, Refusals) {
  expect_refused(MixedNtkScaling{.factor = 1e-4}, {"base * factor finite and > 1", "1e-04"});
  expect_refused(test::spec_with(1e300, 64, MixedNtkScaling{.factor = 1e300}), {"base * factor"});
}

}  // namespace
}  // namespace rotary
