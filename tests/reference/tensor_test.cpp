// SPDX-License-Identifier: Apache-2.0
// The reference over a tensor reads the right elements and positions. Also tests cos_sin().
#include "reference/tensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/angle.hpp"
#include "reference/forms.hpp"
#include "support/binary16.hpp"
#include "support/cases.hpp"

namespace rotary::reference {
namespace {

constexpr Extents extents{.batch = 2, .tokens = 3, .heads = 2, .features = 6};
constexpr HeadWindow window{
    .head_dim = 6, .rotary_dim = 4, .first_feature = 1, .pairing = Pairing::interleaved};
const std::vector<double> inv_freq = {0.5, 0.01};

TEST(ReferenceTensor, GivesTheSameResultForEveryLayout) {
  const std::vector<std::int32_t> positions = {5, -1, 7, 1000000, 3, 0};
  const AngleRows rows(positions_of(std::span(positions), 2), inv_freq);
  for (const DType dtype : test::all_dtypes) {
    const test::Tensor values = test::random_tensor({.dtype = dtype, .extents = extents}, 34);
    const auto expected = rotate_tensor(values.view(), rows, {.window = window});
    for (const test::Layout layout : test::all_layouts) {
      const test::Tensor moved = moved_to(layout, values);
      EXPECT_EQ(rotate_tensor(moved.view(), rows, {.window = window}), expected);
    }
  }
}

// Compares with numbers worked out by hand, and all binary16 bits with the tests' own conversion.
TEST(ReferenceTensor, ReadsEveryTypeExactly) {
  const auto read = [](DType dtype, std::uint64_t bits) {
    test::Tensor tensor({.dtype = dtype, .extents = {.tokens = 1, .heads = 1, .features = 1}});
    tensor.set_bits({}, 0, bits);
    return element(tensor.view(), {}, 0);
  };
  EXPECT_EQ(read(DType::f32, 0xC0490FDB), -0x1.921fb6p1);
  EXPECT_EQ(read(DType::bf16, 0x4049), 0x1.92p1);
  EXPECT_EQ(read(DType::f16, 0x3555), 0x1.554p-2);
  EXPECT_EQ(read(DType::f16, 0x8001), -0x1p-24);
  EXPECT_EQ(read(DType::f16, 0x7BFF), 65504);
  EXPECT_EQ(read(DType::f64, 0x400921FB54442D18), 0x1.921fb54442d18p1);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = test::from_binary16(static_cast<std::uint16_t>(bits));
    const double got = read(DType::f16, bits);
    ASSERT_EQ(std::isnan(got), std::isnan(expected)) << bits;
    ASSERT_EQ(std::signbit(got), bits >= 0x8000) << bits;
    ASSERT_TRUE(std::isnan(expected) || got == expected) << bits;
  }
}

TEST(ReferenceTensor, RotatesEachTokenByItsOwnPosition) {
  const test::Tensor values = test::random_tensor({.dtype = DType::f32, .extents = extents}, 35);
  const std::vector<std::int64_t> positions = {5, -1, 7, 1000000, 3, 0};
  const AngleRows rows(positions_of(std::span(positions), 2), inv_freq);
  const TensorRotation rotation{
      .window = window, .attention_factor = 2, .direction = Direction::transpose};
  for_each_rotated_head(values.view(), rows, rotation, [&](const RotatedHead& head) {
    const auto position =
        positions[static_cast<std::size_t>(head.index.batch * 3 + head.index.token)];
    const std::vector<CosSin> angles = {cos_sin(position, 0.5), cos_sin(position, 0.01)};
    std::vector<long double> x;
    for (std::int64_t f = 0; f < 6; ++f) x.push_back(values.at(head.index, f));
    const auto expected = rotate_by_matrix(
        x, window, {.angles = angles, .attention_factor = 2, .direction = Direction::transpose});
    for (std::size_t f = 0; f < 6; ++f) {
      EXPECT_LE(std::abs(head.exact[f] - expected[f]), 0x1p-58L);
      EXPECT_EQ(head.input[f], x[f]);
    }
  });
}

TEST(ReferenceTensor, SharesOneListOfPositionsOverTheBatch) {
  const AngleRows rows(ConsecutivePositions{.first = 40, .tokens = 3}, inv_freq);
  for (std::int64_t t = 0; t < 3; ++t) {
    EXPECT_EQ(rows.at(0, t)[0].cos, cos_sin(40 + t, 0.5).cos);
    EXPECT_EQ(rows.at(1, t)[1].sin, cos_sin(40 + t, 0.01).sin);
  }
}

TEST(ReferenceTensor, RotatesByPositionsBetweenIntegers) {
  const std::vector<double> positions = {0.5, -3, 0.25, 1e6 + 0.5};
  const Positions given = positions_of(std::span(positions), 2);
  const AngleRows rows(given, inv_freq);
  EXPECT_EQ(rows.at(0, 0)[0].cos, cos_sin(0.5, inv_freq[0]).cos);
  EXPECT_EQ(rows.at(0, 1)[1].sin, cos_sin(-3, inv_freq[1]).sin);
  EXPECT_EQ(rows.at(1, 1)[0].sin, cos_sin(1e6 + 0.5, inv_freq[0]).sin);
  EXPECT_EQ(position_at(given, 1, 0), 0.25L);
}

// Compares cos_sin with values worked out by hand, and huge angles with small ones by identities.

constexpr long double unit = 0x1p-63L;  // long double ulp of 1

TEST(Angle, IsZeroAtPositionZeroOrFrequencyZero) {
  EXPECT_EQ(cos_sin(0, 1e300).cos, 1);
  EXPECT_EQ(cos_sin(12345, 0).cos, 1);
  EXPECT_EQ(cos_sin(12345, 0).sin, 0);
}

// While long double holds the product exactly, the C library is an independent check.
TEST(Angle, AgreesWithTheCLibraryOnSmallAngles) {
  for (const std::int64_t position : {1, -1, 3, 7, 1000, -131071}) {
    for (const double inv_freq : {1.0, 0.01, 0.649381631576211, 1e-4}) {
      const long double angle = static_cast<long double>(position) * inv_freq;
      const CosSin got = cos_sin(position, inv_freq);
      EXPECT_LE(std::abs(got.cos - std::cos(angle)), unit * (1 + std::abs(angle)));
      EXPECT_LE(std::abs(got.sin - std::sin(angle)), unit * (1 + std::abs(angle)));
    }
  }
}

TEST(Angle, IsExactBetweenIntegers) {
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

TEST(Angle, HalfIntegerPositionsObeyTheDoubleAngleFormula) {
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

// Doubles the angle of 2^52 ten times, to that of 2^62. More doublings would lose too many bits.
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
