// SPDX-License-Identifier: Apache-2.0
// cos_sin against values that can be computed by hand, and against the identity that relates an
// enormous angle to small ones.
#include "reference/angle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace rotary::reference {
namespace {

constexpr long double unit = 0x1p-63L;  // long double ulp of 1

TEST(Angle, OfNothing) {
  EXPECT_EQ(cos_sin(0, 1e300).cos, 1);
  EXPECT_EQ(cos_sin(12345, 0).cos, 1);
  EXPECT_EQ(cos_sin(12345, 0).sin, 0);
}

// As long as long double holds the product exactly, the C library is a second opinion.
TEST(Angle, AgreesWithTheLibraryOnSmallAngles) {
  for (const std::int64_t position : {1, -1, 3, 7, 1000, -131071}) {
    for (const double inv_freq : {1.0, 0.01, 0.649381631576211, 1e-4}) {
      const long double angle = static_cast<long double>(position) * inv_freq;
      const CosSin got = cos_sin(position, inv_freq);
      EXPECT_LE(std::abs(got.cos - std::cos(angle)), unit * (1 + std::abs(angle)));
      EXPECT_LE(std::abs(got.sin - std::sin(angle)), unit * (1 + std::abs(angle)));
    }
  }
}

TEST(Angle, BetweenIntegers) {
  EXPECT_EQ(cos_sin(1e-300, 0.5).cos, 1);
  EXPECT_EQ(cos_sin(1e-300, 0.5).sin, static_cast<long double>(1e-300) / 2);
  for (const double position : {0.5, -0.25, 8191.75, 131071.3}) {
    const long double angle = static_cast<long double>(position) * 0.375;  // exact
    const CosSin got = cos_sin(position, 0.375);
    EXPECT_LE(std::abs(got.cos - std::cos(angle)), unit * (1 + std::abs(angle)));
    EXPECT_LE(std::abs(got.sin - std::sin(angle)), unit * (1 + std::abs(angle)));
  }
  for (const std::int64_t position : {std::int64_t{0}, std::int64_t{-7}, std::int64_t{1} << 60}) {
    EXPECT_EQ(cos_sin(static_cast<double>(position), 0.37).cos, cos_sin(position, 0.37).cos);
    EXPECT_EQ(cos_sin(static_cast<double>(position), 0.37).sin, cos_sin(position, 0.37).sin);
  }
}

// Half way to a far integer, doubled.
TEST(Angle, DoublesFromBetweenIntegers) {
  const CosSin half = cos_sin(0x1p51 + 0.5, 0.01);
  const CosSin whole = cos_sin((std::int64_t{1} << 52) + 1, 0.01);
  EXPECT_LE(std::abs(whole.cos - (half.cos * half.cos - half.sin * half.sin)), 8 * unit);
  EXPECT_LE(std::abs(whole.sin - 2 * half.sin * half.cos), 8 * unit);
}

TEST(Angle, IsEvenInCosAndOddInSin) {
  const CosSin ahead = cos_sin(123456789012345, 0.37);
  const CosSin behind = cos_sin(-123456789012345, 0.37);
  EXPECT_EQ(ahead.cos, behind.cos);
  EXPECT_EQ(ahead.sin, -behind.sin);
}

// cos(2^62 w) from cos(w) by doubling loses a bit each time, so only few doublings are compared:
// 2^62 w against 2^52 w doubled ten times.
TEST(Angle, DoublesAtTheEdgeOfInt64) {
  for (const double inv_freq : {1.0, 0.01, 0x1.fffffffffffffp-1}) {
    CosSin doubled = cos_sin(std::int64_t{1} << 52, inv_freq);
    for (int i = 0; i < 10; ++i) {
      doubled = {.cos = doubled.cos * doubled.cos - doubled.sin * doubled.sin,
                 .sin = 2 * doubled.sin * doubled.cos};
    }
    const CosSin direct = cos_sin(std::int64_t{1} << 62, inv_freq);
    EXPECT_LE(std::abs(direct.cos - doubled.cos), 4096 * unit);
    EXPECT_LE(std::abs(direct.sin - doubled.sin), 4096 * unit);
  }
  const CosSin lowest = cos_sin(std::numeric_limits<std::int64_t>::min(), 0.01);
  EXPECT_LE(std::abs(lowest.cos * lowest.cos + lowest.sin * lowest.sin - 1), 4 * unit);
}

}  // namespace
}  // namespace rotary::reference
