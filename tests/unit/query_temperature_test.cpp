// SPDX-License-Identifier: Apache-2.0
// The factor on a query, against numbers worked out by hand from the formulas of the models.
#include "rotary/query_temperature.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rotary {
namespace {

TEST(QueryTemperature, NoneIsOne) { EXPECT_EQ(query_factor(NoTemperature{}, 1000000), 1); }

// Llama 4: log1p(floor((p + 1) / 8192)) * 0.1 + 1: the first step is at position 8191.
TEST(QueryTemperature, Llama4CountsTheTokenItself) {
  const QueryTemperature rule = StepTemperature{.scale = 0.1, .interval_tokens = 8192, .offset = 1};
  EXPECT_EQ(query_factor(rule, 8190), 1);
  EXPECT_DOUBLE_EQ(query_factor(rule, 8191), 1 + 0.1 * std::log(2.0));
  EXPECT_DOUBLE_EQ(query_factor(rule, 16382), 1 + 0.1 * std::log(2.0));
  EXPECT_DOUBLE_EQ(query_factor(rule, 16383), 1 + 0.1 * std::log(3.0));
}

// Ministral 3: 1 + beta * log(1 + floor(p / L0)): the first step is at position 16384.
TEST(QueryTemperature, MinistralDoesNot) {
  const QueryTemperature rule =
      StepTemperature{.scale = 0.1, .interval_tokens = 16384, .offset = 0};
  EXPECT_EQ(query_factor(rule, 16383), 1);
  EXPECT_DOUBLE_EQ(query_factor(rule, 16384), 1 + 0.1 * std::log(2.0));
}

// Qwen 1: max(1, log_2048(p + 1)).
TEST(QueryTemperature, LognGrowsBeyondTheTrainedContext) {
  const QueryTemperature rule = LognTemperature{.trained_tokens = 2048};
  EXPECT_EQ(query_factor(rule, 0), 1);
  EXPECT_EQ(query_factor(rule, 2047), 1);
  EXPECT_DOUBLE_EQ(query_factor(rule, 4194303), 2);
}

// Beam: exp(0.1 * log1p((p + 1) / 2048)).
TEST(QueryTemperature, BeamGrowsAsAPower) {
  const QueryTemperature rule = PowerTemperature{.exponent = 0.1, .interval_tokens = 2048};
  EXPECT_DOUBLE_EQ(query_factor(rule, 2047), std::pow(2.0, 0.1));
  EXPECT_DOUBLE_EQ(query_factor(rule, 1023 * 2048 - 1), std::pow(1024.0, 0.1));
  EXPECT_TRUE(validate(rule));
  EXPECT_FALSE(validate(PowerTemperature{.exponent = 1.5, .interval_tokens = 2048}));
  EXPECT_FALSE(validate(PowerTemperature{.exponent = NAN, .interval_tokens = 2048}));
  EXPECT_FALSE(validate(PowerTemperature{.exponent = 0.1, .interval_tokens = 0}));
}

TEST(QueryTemperature, TheLargestPosition) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const QueryTemperature rule = StepTemperature{.scale = 1, .interval_tokens = 1, .offset = 1};
  EXPECT_DOUBLE_EQ(query_factor(rule, last), 1 + std::log(0x1p63));
}

}  // namespace
}  // namespace rotary
