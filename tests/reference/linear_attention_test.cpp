// SPDX-License-Identifier: Apache-2.0
#include "reference/linear_attention.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace rotary::reference {
namespace {

TEST(ReferenceLinearAttention, FeaturesOfEluPlusOneKeepTheirDigitsFarBelowZero) {
  constexpr std::array<long double, 4> x = {-50, -1, 0, 2};
  const auto mapped = map_features(x, EluPlusOne{}, Side::query);
  // e^-50 and e^-1 by Python's decimal, 30 digits.
  constexpr std::array<long double, 4> expected = {1.92874984796391778287e-22L,
                                                   0.36787944117144232160L, 1, 3};
  ASSERT_EQ(mapped.features.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(mapped.features[i] / expected[i] - 1), 0, 0x1p-60) << x[i];
}

}  // namespace
}  // namespace rotary::reference
