// SPDX-License-Identifier: Apache-2.0
#include "base/extremes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rotary {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Extremes, ReturnNanIfEitherNumberIsNan) {
  const double nan = std::nan("");
  for (const double number : {-infinity, -1.0, 0.0, 1.0, infinity, nan}) {
    for (const auto& extreme : {larger, smaller}) {
      EXPECT_TRUE(std::isnan(extreme(number, nan))) << number;
      EXPECT_TRUE(std::isnan(extreme(nan, number))) << number;
    }
  }
}

TEST(Extremes, ReturnTheLargerAndTheSmallerNumber) {
  for (const double one : {-infinity, -1.0, 0.0, 2.0}) {
    EXPECT_EQ(larger(one, 3), 3);
    EXPECT_EQ(larger(3, one), 3);
    EXPECT_EQ(smaller(one, 3), one);
    EXPECT_EQ(smaller(3, one), one);
  }
  EXPECT_EQ(larger(infinity, infinity), infinity);
  EXPECT_EQ(smaller(-infinity, 1), -infinity);
}

}  // namespace
}  // namespace rotary
