// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "rotary/numeric_contract.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/rows.hpp"

namespace rotary {
namespace {

using test::Tensor;

constexpr std::array all_roles = {Role::query, Role::key};

Frequencies frequencies_of(const HeadWindow& window, const Xpos& xpos, double factor = 1) {
  Frequencies frequencies = test::frequencies_of(window, factor);
  frequencies.xpos = xpos;
  return frequencies;
}

HeadWindow window_of(std::int64_t pairs, Pairing pairing = Pairing::interleaved) {
  return {.head_dim = 2 * pairs, .rotary_dim = 2 * pairs, .first_feature = 0, .pairing = pairing};
}

void expect_rows_within_bound(const Frequencies& frequencies, const Positions& positions,
                              Role role) {
  const reference::XposRole xpos{.xpos = *frequencies.xpos, .role = role};
  const reference::AngleRows exact(positions, frequencies.inv_freq, xpos);
  const double factor = frequencies.attention_factor;
  const auto pairs = frequencies.window.pairs();
  for (const RowDType dtype : test::all_row_dtypes) {
    const Rotations rotations =
        test::value_of(make_rotations(frequencies, positions, {.rows = dtype, .role = role}));
    EXPECT_EQ(rotations.role(), role);
    for (std::int64_t t = 0; t < rotations.tokens(); ++t) {
      const long double position = reference::position_at(positions, 0, t);
      for (std::int64_t i = 0; i < pairs; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const long double scale =
            factor * reference::xpos_factor(xpos, {.pair = i, .pairs = pairs}, position);
        const auto expect = [&](double got, long double angle) {
          const long double wanted = factor * angle;
          const double bound = dtype == RowDType::f64
                                   ? xpos_row_f64_error_bound(static_cast<double>(scale), position)
                                   : xpos_row_error_bound(static_cast<double>(wanted),
                                                          static_cast<double>(scale), position);
          ASSERT_LE(std::abs(got - wanted), bound)
              << "pair " << i << " position " << static_cast<double>(position);
        };
        const reference::CosSin& angle = exact.at(0, t)[at];
        const bool wide = dtype == RowDType::f64;
        expect(wide ? rotations.cos<double>(0, t)[at] : double{rotations.cos(0, t)[at]}, angle.cos);
        expect(wide ? rotations.sin<double>(0, t)[at] : double{rotations.sin(0, t)[at]}, angle.sin);
      }
    }
  }
}

TEST(Xpos, RowsStayWithinTheBound) {
  const std::vector<double> positions = {0,     1,      2,   511,     512, 4096,
                                         16990, -16990, 0.5, -77.125, 1e-9};
  test::Random random(101);
  std::vector<std::int64_t> integers;
  for (int i = 0; i < 40; ++i) integers.push_back(random.integer(-16900, 16900));
  for (const Role role : all_roles) {
    for (const std::int64_t pairs : {1, 15, 16, 17, 64, 65, 130}) {
      const Frequencies frequencies = frequencies_of(window_of(pairs), {}, 1.25);
      expect_rows_within_bound(frequencies, positions_of(std::span(positions)), role);
      expect_rows_within_bound(frequencies, positions_of(std::span(integers)), role);
    }
  }
}

// The position is large, its distance from the center is small.
TEST(Xpos, RowsStayWithinTheBoundFarFromZero) {
  constexpr double center = 0x1p52;
  const std::vector<std::int64_t> positions = {(std::int64_t{1} << 52) - 16990,
                                               (std::int64_t{1} << 52) + 1,
                                               (std::int64_t{1} << 52) + 16990};
  for (const Role role : all_roles) {
    for (const double scale_base : {512.0, 1e4, 1e300}) {
      expect_rows_within_bound(
          frequencies_of(window_of(20), {.scale_base = scale_base, .center = center}),
          positions_of(std::span(positions)), role);
    }
  }
}

TEST(Xpos, RotatesWithinTheBound) {
  const std::vector<double> positions = {0, 5000, -5000, 0.5, 131.25, 12};
  const Positions given = positions_of(std::span(positions), 2);
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window{
        .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = pairing};
    for (const Role role : all_roles) {
      const Frequencies frequencies = frequencies_of(window, {.center = 3}, 1.25);
      const test::Oracle oracle(frequencies, given, role);
      for (const DType dtype : test::all_dtypes) {
        const Rotations rotations = test::value_of(
            make_rotations(frequencies, given, {.rows = test::rows_for(dtype), .role = role}));
        for (const Direction direction : {Direction::forward, Direction::transpose}) {
          SCOPED_TRACE(test::describe(dtype, pairing, direction));
          const Tensor src = test::random_tensor(
              {.dtype = dtype, .extents = {.batch = 2, .tokens = 3, .heads = 2, .features = 50}},
              102);
          Tensor dst = src;
          test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
          EXPECT_TRUE(oracle.accepts(dst.view(), src.view(), direction));
          Tensor in_place = src;
          test::require(
              rotate(in_place.view(), in_place.view(), rotations, {.direction = direction}));
          EXPECT_EQ(in_place.bytes(), dst.bytes());
        }
      }
    }
  }
}

TEST(Xpos, RowsHaveTheSameBitsForAnyKindOfPositions) {
  const Frequencies frequencies = frequencies_of(window_of(70), {.center = 10});
  const std::vector<double> doubles = {40, 41, 42, 43};
  const std::vector<std::int32_t> integers = {40, 41, 42, 43};
  for (const Role role : all_roles) {
    const auto bits = [&](const Positions& positions) {
      return test::all_row_bits(
          test::value_of(make_rotations(frequencies, positions, {.role = role})));
    };
    const auto wanted = bits(ConsecutivePositions{.first = 40, .tokens = 4});
    EXPECT_EQ(bits(positions_of(std::span(doubles))), wanted);
    EXPECT_EQ(bits(positions_of(std::span(integers))), wanted);
    EXPECT_EQ(bits(positions_of(std::span(integers), 2)), wanted);
  }
}

TEST(Xpos, FrequenciesWithAnotherCenterDoNotRotateAlike) {
  const Frequencies one = frequencies_of(window_of(4), {.center = 1});
  EXPECT_TRUE(rotate_alike(one, frequencies_of(window_of(4), {.center = 1})));
  EXPECT_FALSE(rotate_alike(one, frequencies_of(window_of(4), {.center = 2})));
  EXPECT_FALSE(rotate_alike(one, test::frequencies_of(window_of(4))));
}

TEST(Xpos, RemakeKeepsTheRole) {
  const Frequencies frequencies = frequencies_of(window_of(16), {});
  Rotations rotations = test::value_of(make_rotations(
      frequencies, ConsecutivePositions{.first = 0, .tokens = 8}, {.role = Role::key}));
  const ConsecutivePositions later{.first = 2000, .tokens = 3};
  test::require(remake_rotations(rotations, frequencies, later));
  EXPECT_EQ(rotations.role(), Role::key);
  EXPECT_EQ(
      test::all_row_bits(rotations),
      test::all_row_bits(test::value_of(make_rotations(frequencies, later, {.role = Role::key}))));
  EXPECT_NE(test::all_row_bits(rotations), test::all_row_bits(test::value_of(make_rotations(
                                               frequencies, later, {.role = Role::query}))));
}

}  // namespace
}  // namespace rotary
