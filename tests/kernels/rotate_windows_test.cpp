// SPDX-License-Identifier: Apache-2.0
// Tests every even rotary_dim up to 130, beyond two unrolled steps of the widest vectors, so every
// tail length occurs. Also tests NaN, Inf, overflow and unrotated features.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

struct Case {
  HeadWindow window;
  DType dtype = DType::f32;
  Extents extents;
};

void expect_right(const Case& given, std::uint64_t seed) {
  const ConsecutivePositions positions{.first = 77, .tokens = given.extents.tokens};
  const Frequencies frequencies = test::frequencies_of(given.window);
  const Rotations rotations =
      test::rotations_of(frequencies, positions, test::rows_for(given.dtype));
  const test::Oracle oracle(frequencies, positions);
  const Tensor src = test::random_tensor({.dtype = given.dtype, .extents = given.extents}, seed);
  for (const Layout layout : {Layout::bthd, Layout::bhtd}) {
    SCOPED_TRACE(to_string(layout));
    const Tensor there = moved_to(layout, src);
    Tensor dst({.dtype = given.dtype, .extents = given.extents, .layout = layout});
    test::require(rotate(dst.view(), there.view(), rotations));
    ASSERT_TRUE(oracle.accepts(dst.view(), there.view(), Direction::forward));
    ASSERT_TRUE(dst.guards_intact());

    Tensor in_place = there;
    test::require(rotate(in_place.view(), in_place.view(), rotations));
    ASSERT_EQ(in_place.bytes(), dst.bytes());
  }
}

TEST(RotateWindows, AreWithinTheBoundForEveryRotaryDim) {
  for (std::int64_t rotary_dim = 2; rotary_dim <= 2 * 64 + 2; rotary_dim += 2) {
    for (const Pairing pairing : all_pairings) {
      for (const DType dtype : test::all_dtypes) {
        SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward) + " rotary_dim " +
                     std::to_string(rotary_dim));
        expect_right({.window = {.head_dim = rotary_dim,
                                 .rotary_dim = rotary_dim,
                                 .first_feature = 0,
                                 .pairing = pairing},
                      .dtype = dtype,
                      .extents = {.tokens = 3, .heads = 3, .features = rotary_dim}},
                     static_cast<std::uint64_t>(rotary_dim));
      }
    }
  }
}

using test::HeadIndex;

constexpr Extents one_head{.tokens = 1, .heads = 1, .features = 42};
constexpr HeadIndex only{};
constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor rotated(const Tensor& src, Pairing pairing, std::int64_t position) {
  const HeadWindow window{.head_dim = 42, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
  Tensor dst({.dtype = src.view().dtype, .extents = one_head});
  test::require(rotate(dst.view(), src.view(),
                       test::rotations_of(test::frequencies_of(window),
                                          ConsecutivePositions{.first = position, .tokens = 1},
                                          test::rows_for(src.view().dtype))));
  return dst;
}

// The bits of the largest finite number, which are one below those of Inf.
std::uint64_t largest_bits(DType dtype) {
  Tensor tensor({.dtype = dtype, .extents = {.tokens = 1, .heads = 1, .features = 1}});
  tensor.set(only, 0, infinity);
  return tensor.bits_at(only, 0) - 1;
}

// Puts `value` into each rotated feature and visits its pair's results. Other features keep their
// bits.
template <class Visit>
void for_each_poisoned_feature(double value, Visit visit) {
  for (const Pairing pairing : all_pairings) {
    const HeadWindow window{
        .head_dim = 42, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
    for (const DType dtype : test::all_dtypes) {
      const Tensor clean = test::random_tensor({.dtype = dtype, .extents = one_head}, 8);
      const Tensor expected = rotated(clean, pairing, 1);
      for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
        const auto [x, y] = test::features_read(window, Direction::forward, pair);
        const auto [first, second] = test::features_written(window, Direction::forward, pair);
        for (const std::int64_t poisoned : {x, y}) {
          SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward) + " feature " +
                       std::to_string(poisoned));
          Tensor src = clean;
          src.set(only, poisoned, value);
          const Tensor dst = rotated(src, pairing, 1);
          visit(dst.at(only, first), dst.at(only, second), poisoned == x);
          for (std::int64_t f = 0; f < one_head.features; ++f) {
            if (f == first || f == second) continue;
            ASSERT_EQ(dst.bits_at(only, f), expected.bits_at(only, f)) << "feature " << f;
          }
        }
      }
    }
  }
}

TEST(RotateSpecialValues, NanStaysInItsPair) {
  for_each_poisoned_feature(std::numeric_limits<double>::quiet_NaN(),
                            [](double first, double second, bool) {
                              EXPECT_TRUE(std::isnan(first));
                              EXPECT_TRUE(std::isnan(second));
                            });
}

// At position 1 every angle is in (0, pi/2), so cos and sin are positive.
TEST(RotateSpecialValues, InfinityStaysInItsPairWithItsSign) {
  for (const double value : {infinity, -infinity}) {
    for_each_poisoned_feature(value, [value](double first, double second, bool is_first) {
      EXPECT_EQ(first, is_first ? value : -value);
      EXPECT_EQ(second, value);
    });
  }
}

TEST(RotateSpecialValues, OverflowIsInfinity) {
  for (const DType dtype : test::all_dtypes) {
    Tensor src = test::random_tensor({.dtype = dtype, .extents = one_head}, 9);
    src.set_bits(only, 2, largest_bits(dtype));
    src.set_bits(only, 3, largest_bits(dtype));
    const Tensor dst = rotated(src, Pairing::interleaved, 1);
    EXPECT_EQ(dst.at(only, 3), infinity) << to_string(dtype);  // largest * (sin 1 + cos 1)
  }
}

// Signalling NaNs, negative zero and subnormals are copied without arithmetic.
TEST(RotateSpecialValues, UnrotatedFeaturesPassBitForBit) {
  for (const DType dtype : test::all_dtypes) {
    for (const std::uint64_t upper :
         {0x7F81U, 0x7C01U, 0x7FF1U, 0xFFFFU, 0x8000U, 0x0001U, 0x7F80U, 0x7C00U, 0x8001U}) {
      const auto below = 8 * size_in_bytes(dtype) - 16;  // bits after the first 16
      const std::uint64_t bits = below == 0 ? upper : (upper << below) | 1U;
      for (const Pairing pairing : all_pairings) {
        Tensor src = test::random_tensor({.dtype = dtype, .extents = one_head}, 10);
        for (const std::int64_t f : {0, 1, 40, 41}) src.set_bits(only, f, bits);
        const Tensor dst = rotated(src, pairing, 12345);
        for (const std::int64_t f : {0, 1, 40, 41}) EXPECT_EQ(dst.bits_at(only, f), bits);
      }
    }
  }
}

// x cos(0) - y sin(0) is x for all finite x and y.
TEST(RotateSpecialValues, PositionZeroChangesNothing) {
  for (const DType dtype : test::all_dtypes) {
    for (const Pairing pairing : test::order_keeping_pairings) {
      const Tensor src = test::random_tensor({.dtype = dtype, .extents = one_head}, 11);
      EXPECT_EQ(rotated(src, pairing, 0).all_bits(), src.all_bits());
    }
  }
}

}  // namespace
}  // namespace rotary
